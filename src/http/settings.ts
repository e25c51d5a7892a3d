// What the operator may set of the HTTP face: sizes, depths, waits.
import type { BodyLimits } from "../wire/body-limits.ts";
import type { SettingsOf, SettingsSchema } from "../domain/settings.ts";

const mebibyte = 1024 * 1024;
/** V8 holds no longer text, and a body is parsed from one. */
const bodyBytesMax = 480 * mebibyte;

export const httpSettings = {
  chatBodyBytes: {
    kind: "integer",
    default: 16 * mebibyte,
    min: 1024,
    max: bodyBytesMax,
    about: "Largest body of a chat request, in bytes.",
  },
  trajectoryBodyBytes: {
    kind: "integer",
    default: 256 * mebibyte,
    min: 1024,
    max: bodyBytesMax,
    about: "Largest body of a training job or a log, in bytes.",
  },
  feedbackBodyBytes: {
    kind: "integer",
    default: 32 * mebibyte,
    min: 1024,
    max: bodyBytesMax,
    about: "Largest body of a feedback request, in bytes.",
  },
  otherBodyBytes: {
    kind: "integer",
    default: mebibyte,
    min: 1024,
    max: bodyBytesMax,
    about: "Largest body of every other request, in bytes.",
  },
  jsonDepth: { kind: "integer", default: 64, min: 8, max: 1000, about: "How deep JSON may be nested." },
  jsonValues: {
    kind: "integer",
    default: 200_000,
    min: 1000,
    max: 100_000_000,
    about: "Most JSON values in a body, or in each record or group of one.",
  },
  trajectoryJsonValues: {
    kind: "integer",
    default: 10_000_000,
    min: 1000,
    max: 100_000_000,
    about: "Most JSON values in one group of trajectories.",
  },
  trajectoryGroups: {
    kind: "integer",
    default: 100_000,
    min: 1,
    max: 10_000_000,
    about: "Most groups of trajectories, or conversations, in a training job or a log.",
  },
  bodyBytesInFlight: {
    kind: "integer",
    default: 1024 * mebibyte,
    min: mebibyte,
    max: 1024 * 1024 * mebibyte,
    about:
      "Bytes that all bodies being read or answered, and all answers of more than 1 MiB that are gathered, may have together; more are answered 429.",
  },
  readBytesInFlight: {
    kind: "integer",
    default: 256 * mebibyte,
    min: 16 * mebibyte,
    max: 1024 * 1024 * mebibyte,
    about:
      "Bytes that all answers may hold together of stored content that they read, those of one key half of it; further readers wait. One that needs more reads alone.",
  },
  readsWaiting: {
    kind: "integer",
    default: 256,
    min: 1,
    max: 100_000,
    about: "Most requests that wait to read stored content; more are answered 429.",
  },
  readWaitSeconds: {
    kind: "number",
    default: 30,
    min: 0.1,
    max: 600,
    about: "How long a request waits to read stored content before it is answered 429.",
  },
  chatMessages: {
    kind: "integer",
    default: 4096,
    min: 1,
    max: 1_000_000,
    about: "Most messages of a chat request.",
  },
  chatParts: {
    kind: "integer",
    default: 1024,
    min: 1,
    max: 1_000_000,
    about: "Most parts of one message's content.",
  },
  chatTools: {
    kind: "integer",
    default: 1024,
    min: 1,
    max: 1_000_000,
    about: "Most tools of a chat request, and most tool calls of one message.",
  },
  chatStopStrings: {
    kind: "integer",
    default: 1024,
    min: 1,
    max: 1_000_000,
    about: "Most stop strings of a chat request, and most bad words.",
  },
  chatStopCharacters: {
    kind: "integer",
    default: 4096,
    min: 1,
    max: 1_000_000,
    about: "Most characters of a stop string or a bad word.",
  },
  chatBadWordCharacters: {
    kind: "integer",
    default: 65_536,
    min: 1,
    max: 16_000_000,
    about: "Most characters of all bad words of a chat request together.",
  },
  chatTokenIds: {
    kind: "integer",
    default: 65_536,
    min: 1,
    max: 10_000_000,
    about: "Most token ids in each of stop_token_ids and allowed_token_ids of a chat request.",
  },
  chatBiases: {
    kind: "integer",
    default: 32_768,
    min: 1,
    max: 10_000_000,
    about: "Most token ids in logit_bias of a chat request.",
  },
  completionPrompts: {
    kind: "integer",
    default: 128,
    min: 1,
    max: 1_000_000,
    about: "Most prompts of one text completion.",
  },
  requestSeconds: {
    kind: "number",
    default: 300,
    min: 1,
    max: 86_400,
    about: "A request must be complete, body included, within this long.",
  },
  connections: {
    kind: "integer",
    default: 4096,
    min: 1,
    max: 1_000_000,
    about:
      "Most connections at once, fewer where the process may open few files; one more closes the oldest that showed no key.",
  },
  requestsPerKey: {
    kind: "integer",
    default: 512,
    min: 1,
    max: 1_000_000,
    about: "Requests of one key that may be in flight; more are answered 429.",
  },
  failedLoginsPerMinute: {
    kind: "integer",
    default: 30,
    min: 1,
    max: 1_000_000,
    about:
      "Unknown keys of one address in a minute that are answered 401; further ones are answered 429 until it is over.",
  },
  feedbackBatchRecords: {
    kind: "integer",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    about: "Most records in one feedback batch; more are answered 413, and clients then send halves.",
  },
  corsOrigins: {
    kind: "list",
    default: [],
    about:
      "Origins whose pages may use the API from a browser, such as `https://app.example:8443`; `*` lets all, where authentication is on. None unless given.",
  },
  checkTests: {
    kind: "integer",
    default: 1000,
    min: 1,
    max: 1_000_000,
    about: "Most tests of one check of a constraint.",
  },
  checkSeconds: {
    kind: "number",
    default: 10,
    min: 0.1,
    max: 3600,
    about: "How long checking one constraint with its tests may take; one that takes longer is answered 413.",
  },
  keepAliveSeconds: {
    kind: "number",
    default: 10,
    min: 0.1,
    max: 3600,
    about:
      "A stream that had nothing to send for this long sends a comment, so that no proxy ends it; one that has not begun by then begins.",
  },
  idleStreamSeconds: {
    kind: "number",
    default: 60,
    min: 1,
    max: 3600,
    about: "A stream whose client reads nothing for this long is ended.",
  },
} as const satisfies SettingsSchema;

export type HttpSettings = SettingsOf<typeof httpSettings>;

/** What the settings mean for whoever reads a body. */
export function bodyLimits(settings: HttpSettings): BodyLimits {
  const { jsonDepth: depthMax, jsonValues, trajectoryJsonValues } = settings;
  return {
    ...settings,
    json: { depthMax, valuesMax: jsonValues },
    trajectoryJson: { depthMax, valuesMax: trajectoryJsonValues },
  };
}
