// Settings that were removed, and what holds in their place, for the message to those who still give one.
import type { SectionName } from "./settings.ts";

/** By section and name, as in `hone.json`. */
export const goneSettings: ReadonlyMap<string, string> = new Map([
  ["training.minibatchTokens", "training.batchTokens says how many tokens a step has"],
  ...sameEverywhere("jobs", [
    "attemptsMax",
    "startsMax",
    "backoffMs",
    "backoffMsMax",
    "queuedMax",
    "queuedPerEntityMax",
    "optimizerStatesKept",
    "replayJobsMax",
    "leaseMs",
    "heartbeatMs",
    "pollMs",
    "eventPollMs",
  ]),
]);

function sameEverywhere(section: SectionName, names: readonly string[]): readonly [string, string][] {
  return names.map((name) => [`${section}.${name}`, "it is the same on every server"]);
}
