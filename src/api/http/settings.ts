// What the HTTP face goes by: sizes, depths and waits. What an operator sets comes first, then what follows from that, then
// what is the same on every server.
import {
  section,
  type SettingsIn,
  type SettingsOf,
  type SettingsSchema,
} from "../../base/domain/settings.ts";
import type { BodyLimits } from "../wire/body-limits.ts";

const mebibyte = 1024 * 1024;
/** V8 holds no longer text, and a body is parsed from one. */
const bodyBytesMax = 480 * mebibyte;

const schema = {
  bodyBytes: {
    kind: "integer",
    default: 256 * mebibyte,
    min: mebibyte,
    max: bodyBytesMax,
    about:
      "Maximum size of a training job, a log or an uploaded file, in bytes. Feedback may have an eighth of it, a chat request a sixteenth.",
  },
  operatorRoutes: {
    kind: "choice",
    default: "auto",
    choices: ["auto", "open", "key"],
    about:
      "Access to `/metrics`, `/v1/system-check`, `/docs` and `/openapi.json`: `open` to everyone, or with a `key`. With authentication on, `auto` requires a key unless the server listens on a loopback address and the request's `Host` is one or `localhost`.",
  },
  corsOrigins: {
    kind: "list",
    default: [],
    about:
      "Origins whose pages may call the API from a browser, such as `https://app.example:8443`; `*` allows all if authentication is on. Default: none.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Requests of one key that may be in flight; more are answered 429. A key may have a lower limit of its own. */
  requestsPerKey: 512,
  /** Most messages of a chat request: far more than a context holds. */
  chatMessages: 4096,
  /** How deep JSON may be nested: no client nests deeper than a dozen. */
  jsonDepth: 64,
  /** A stream whose client reads nothing for this long is ended. */
  idleStreamSeconds: 60,
  /** A request must be complete, body included, within this time: a large body over a slow line takes minutes. */
  requestSeconds: 300,
  /**
   * Most connections at once, fewer where the process may open few files (`connections/`). One entity, and all clients without a
   * key together, have at most half of what the others leave: one more closes their oldest idle one, or its request is
   * answered 429.
   */
  connections: 4096,
  /**
   * Bytes that all bodies of 64 KiB or more being read or answered, and all answers of more than 1 MiB that are gathered, may
   * have together; they count as they arrive. A server with little memory allows less (apps/server/settings).
   */
  bodyBytesInFlight: 1024 * mebibyte,
  /** Of every other request; none of them carries content. */
  otherBodyBytes: mebibyte,
  /** Most JSON values in a body, or in each record or group of one: about a second of checking. */
  jsonValues: 200_000,
  /** The same of one group of trajectories, which may be as large as a body, and is checked in a thread of its own. */
  trajectoryJsonValues: 10_000_000,
  /** Groups or conversations of a training job or a log. */
  trajectoryGroups: 100_000,
  /** Requests that wait to read what is stored, and how long: half of a minute, as long as most clients wait. */
  readsWaiting: 256,
  readWaitSeconds: 30,
  /** Of all bad words of a request: all are compared with an answer's end at every token. */
  chatBadWordCharacters: 65_536,
  /** Token ids in each of stop_token_ids and allowed_token_ids: no more than small vocabularies have. */
  chatTokenIds: 65_536,
  /** Token ids in logit_bias. */
  chatBiases: 32_768,
  /** Prompts of one text completion: as many as are computed at the same time. */
  completionPrompts: 128,
  /** Unknown keys of one address that are answered 401; further ones are answered 429 until the minute is over. */
  failedLoginsPerMinute: 30,
  /** Records of one feedback batch; clients send halves of what is answered 413. */
  feedbackBatchRecords: 10_000,
  /** Tests of one check of a constraint, and how long it may take with all of them. */
  checkTests: 1000,
  checkSeconds: 10,
  /** After so long in silence a stream sends a comment: proxies end one that is silent for 30 to 60 s. */
  keepAliveSeconds: 10,
};

/** What follows from what an operator sets. */
function following({ bodyBytes, bodyBytesInFlight, chatMessages }: SettingsOf<typeof schema> & typeof fixed) {
  return {
    trajectoryBodyBytes: bodyBytes,
    feedbackBodyBytes: Math.floor(bodyBytes / 8),
    chatBodyBytes: Math.floor(bodyBytes / 16),
    /** Of what is stored, that all answers may hold together; those of one key half of it. What needs more is read alone. */
    readBytesInFlight: Math.floor(bodyBytesInFlight / 4),
    chatParts: Math.floor(chatMessages / 4),
    chatTools: Math.floor(chatMessages / 4),
    chatStopStrings: Math.floor(chatMessages / 4),
    chatStopCharacters: chatMessages,
  };
}

export const httpSettings = section(schema, fixed, following);

export type HttpSettings = SettingsIn<typeof httpSettings>;

/** What the settings mean for whoever reads a body. */
export function bodyLimits(settings: HttpSettings): BodyLimits {
  const { jsonDepth: depthMax, jsonValues, trajectoryJsonValues } = settings;
  return {
    ...settings,
    json: { depthMax, valuesMax: jsonValues },
    trajectoryJson: { depthMax, valuesMax: trajectoryJsonValues },
  };
}
