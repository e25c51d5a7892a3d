// Draws the next token of one sequence from the scores of its row: with its own random numbers, and under its constraint
// where it has one.
import { ServiceError } from "../../domain/service-error.ts";
import type { Sampler } from "../logits/sampler.ts";
import type { Sequence } from "./sequence.ts";
import type { DrawOutcome } from "./settle.ts";

/** @param logits_V raw scores; not modified */
export function drawFor(sequence: Sequence, logits_V: Float32Array, sampler: Sampler): DrawOutcome {
  const { running, random, cursor } = sequence;
  const { sampling, outputs } = running.request;
  const { topLogprobCount } = outputs;
  try {
    const mask = cursor?.next() ?? null;
    if (mask !== null && mask.allowed.every((word) => word === 0)) {
      if (!mask.mayEnd) return { kind: "failed", error: noToken() };
      if (running.stopTokenIds.size === 0) return { kind: "complete" };
    }
    const endTokenIds = mask?.mayEnd === true ? running.stopTokenIds : noTokens;
    const allowed = mask && { words: mask.allowed, endTokenIds };
    const token = sampler.draw(logits_V, { sampling, random, topLogprobCount }, allowed);
    return token === null ? { kind: "failed", error: brokenModel() } : { kind: "token", token };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: "failed", error };
  }
}

const noTokens: ReadonlySet<number> = new Set();

function noToken(): ServiceError {
  const message =
    "The constraint cannot be followed with this model's vocabulary: no token continues the answer.";
  return new ServiceError({ code: "unsupported", message });
}

function brokenModel(): ServiceError {
  const message = "The model's scores are not finite numbers: this version of the model cannot be used.";
  return new ServiceError({ code: "internal", message });
}
