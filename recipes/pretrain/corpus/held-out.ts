// What training never sees: one twentieth of all prompts by a hash of kind and wording, and the demo's prompts.
// Case, quotes and punctuation do not count, so no near twin of a held-out prompt is trained on.
import { createHash } from "node:crypto";
import type { Exercise } from "./exercise.ts";

const demoOpening = "respond with exactly one of";
const demoWords = new Set(["yes", "no", "maybe", "or"]);

/** Whether the exercise belongs to evaluation only. */
export function isHeldOut(exercise: Pick<Exercise, "kind" | "prompt">): boolean {
  const words = exercise.prompt
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  const wording = words.join(" ");
  if (isDemoPrompt(wording)) return true;
  // A plain "Hello" is what everybody types first; the hash must not take it away.
  if (exercise.kind === "greetings" && words.length < 3) return false;
  return createHash("sha256").update(`${exercise.kind}\n${wording}`).digest().readUInt32LE(0) % 20 === 0;
}

function isDemoPrompt(wording: string): boolean {
  if (!wording.startsWith(demoOpening)) return false;
  return wording
    .slice(demoOpening.length + 1)
    .split(" ")
    .every((word) => demoWords.has(word));
}
