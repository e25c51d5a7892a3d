// The thread that compiles constraints and computes masks, beside the one that computes the model. Keeps compiled
// constraints by their content, so that the next request with the same one begins at once.
import { parentPort, workerData } from "node:worker_threads";
import { present } from "../../domain/assert.ts";
import type { Constraint } from "../../domain/constraint.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { unpackVocabulary } from "../../domain/vocabulary.ts";
import { readLanguage } from "../../grammar/language.ts";
import { CompiledConstraint, type Matcher } from "../../grammar/matcher.ts";
import { buildTokenTrie } from "../../grammar/trie/token-trie.ts";
import { MaskBoard } from "./mask-board.ts";
import type { MaskAnswer, MaskRequest, MaskThreadData } from "./mask-protocol.ts";

/** The most recently used ones are kept; each holds what its limits allow at most. */
const keptConstraintCount = 32;

const port = present(parentPort, "the port of the engine's thread");
// What the engine's thread gave this one.
const { vocabulary, limits, placeCount, memory } = workerData as MaskThreadData;
const trie = buildTokenTrie({ bytes: unpackVocabulary(vocabulary) });
const board = new MaskBoard(placeCount, Math.ceil(trie.tokenCount / 32), memory);
const kept = new Map<string, CompiledConstraint>();
const prepared = new Map<number, { readonly content: string; readonly compiled: CompiledConstraint }>();
/** By place; `content` is that of its constraint. */
const matchers = new Map<number, { readonly content: string; readonly matcher: Matcher }>();

port.on("message", (request: MaskRequest) => {
  switch (request.kind) {
    case "prepare":
      return prepare(request.key, request.constraint);
    case "release":
      return void prepared.delete(request.key);
    case "open": {
      const { content, compiled } = present(
        prepared.get(request.key),
        "a constraint that is opened is prepared",
      );
      const matcher = compiled.matcher();
      matchers.set(request.place, { content, matcher });
      return write(request.place, request.turn, () => matcher);
    }
    case "accept":
      return write(request.place, request.turn, () => {
        const matcher = matchers.get(request.place)?.matcher ?? null;
        // Nothing is said of a place after it has failed.
        return matcher?.accept(request.tokenId) === true ? matcher : null;
      });
    case "close":
      return void matchers.delete(request.place);
  }
});

function prepare(key: number, constraint: Constraint): void {
  let refusal: string | null = null;
  try {
    const content = JSON.stringify(constraint);
    prepared.set(key, { content, compiled: compiledOf(content, constraint) });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    refusal = error.message;
  }
  port.postMessage({ key, refusal } satisfies MaskAnswer);
}

function compiledOf(content: string, constraint: Constraint): CompiledConstraint {
  const compiled = kept.get(content) ?? new CompiledConstraint(readLanguage(constraint, limits), trie);
  // The last one used is the last to go.
  kept.delete(content);
  kept.set(content, compiled);
  const [oldest] = kept.keys();
  if (kept.size > keptConstraintCount && oldest !== undefined) kept.delete(oldest);
  return compiled;
}

/** Writes the mask of a place; one that costs too much, or a token that may not come, ends the place. */
function write(place: number, turn: number, move: () => Matcher | null): void {
  try {
    const matcher = move();
    matcher?.mask(board.maskOf(place));
    if (matcher === null) board.finish(place, turn, "failed");
    else board.finish(place, turn, matcher.mayEnd ? "may-end" : "goes-on");
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // What is full of states begins anew for the next request.
    kept.delete(matchers.get(place)?.content ?? "");
    matchers.delete(place);
    board.finish(place, turn, "failed");
  }
}
