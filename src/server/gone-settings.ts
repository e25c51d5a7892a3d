// Settings that were removed, and what holds in their place, for the message to those who still give one.
import type { SectionName } from "./settings.ts";

/** By section and name, as in `hone.json`. */
export const goneSettings: ReadonlyMap<string, string> = new Map([
  ["training.minibatchTokens", "training.batchTokens says how many tokens a step has"],
  ["files.fileBytes", "a file may have http.bodyBytes"],
  ["http.trajectoryBodyBytes", "it is http.bodyBytes now"],
  ["http.feedbackBodyBytes", "it is an eighth of http.bodyBytes"],
  ["http.chatBodyBytes", "it is a sixteenth of http.bodyBytes"],
  ["http.readBytesInFlight", "it is a quarter of http.bodyBytesInFlight"],
  ["http.chatParts", "it is a quarter of http.chatMessages"],
  ["http.chatTools", "it is a quarter of http.chatMessages"],
  ["http.chatStopStrings", "it is a quarter of http.chatMessages"],
  ["http.chatStopCharacters", "it is as large as http.chatMessages"],
  ...sameEverywhere("server", ["auditFileBytes", "auditFiles"]),
  ...sameEverywhere("models", ["adapterRankMax", "adapterBytesMax", "importsAtOnce"]),
  ...sameEverywhere("files", ["sweepSeconds"]),
  ...sameEverywhere("http", [
    "otherBodyBytes",
    "jsonValues",
    "trajectoryJsonValues",
    "trajectoryGroups",
    "readsWaiting",
    "readWaitSeconds",
    "chatBadWordCharacters",
    "chatTokenIds",
    "chatBiases",
    "completionPrompts",
    "failedLoginsPerMinute",
    "feedbackBatchRecords",
    "checkTests",
    "checkSeconds",
    "keepAliveSeconds",
  ]),
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
