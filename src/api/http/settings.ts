// Settings of the HTTP server: sizes, depths and times. First those that an operator sets, then derived values, then
// constants.
import {
  section,
  type SettingsIn,
  type SettingsOf,
  type SettingsSchema,
} from "../../base/domain/settings.ts";
import type { BodyLimits } from "../wire/body-limits.ts";

const mebibyte = 1024 * 1024;
/** V8's strings are no longer than this, and a body is parsed from one string. */
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
  /** Requests of one key in flight; more are answered 429. A key may have a lower limit. */
  requestsPerKey: 512,
  /** Maximum number of messages in a chat request, far more than a context holds. */
  chatMessages: 4096,
  /** Maximum nesting depth of JSON; clients nest no deeper than a dozen. */
  jsonDepth: 64,
  /** A stream ends if its client reads nothing for this long. */
  idleStreamSeconds: 60,
  /** Time within which a request must be complete, body included; a large body over a slow line takes minutes. */
  requestSeconds: 300,
  /**
   * Maximum number of connections, fewer if the process may open few files (`connections/`). One entity, and all
   * clients without a key together, have at most half of the connections that the others leave. One more closes their oldest idle
   * connection, or is answered 429.
   */
  connections: 4096,
  /**
   * Bytes of all bodies of 64 KiB or more and all collected answers of more than 1 MiB, counted as they arrive. A
   * server with little memory allows less (apps/server/settings).
   */
  bodyBytesInFlight: 1024 * mebibyte,
  /** Body size of all other requests, which carry no content. */
  otherBodyBytes: mebibyte,
  /** Maximum number of JSON values in a body, or in each record or group of one: about a second of checking. */
  jsonValues: 200_000,
  /** The same for one group of trajectories, which may be as large as a body and is checked in a separate thread. */
  trajectoryJsonValues: 10_000_000,
  /** Groups or conversations of a training job or a log. */
  trajectoryGroups: 100_000,
  /**
   * Number of requests that may wait to read stored data, and for how long. Most clients wait a minute; this is half
   * of it.
   */
  readsWaiting: 256,
  readWaitSeconds: 30,
  /** Characters of all bad words of a request; all are compared with an answer's end at every token. */
  chatBadWordCharacters: 65_536,
  /** Token ids in each of stop_token_ids and allowed_token_ids; small vocabularies have no more. */
  chatTokenIds: 65_536,
  /** Token ids in logit_bias. */
  chatBiases: 32_768,
  /** Prompts of one text completion, as many as are computed at the same time. */
  completionPrompts: 128,
  /**
   * Unknown keys per address and minute that are answered 401; further ones are answered 429 until the minute is over.
   */
  failedLoginsPerMinute: 30,
  /** Records of one feedback batch; clients halve batches that are answered 413. */
  feedbackBatchRecords: 10_000,
  /** Tests per check of a constraint, and the time for all of them. */
  checkTests: 1000,
  checkSeconds: 10,
  /** Silence after which a stream sends a comment; proxies end streams that are silent for 30 to 60 s. */
  keepAliveSeconds: 10,
};

/** Returns the values derived from what an operator sets. */
function derivedSettings({
  bodyBytes,
  bodyBytesInFlight,
  chatMessages,
}: SettingsOf<typeof schema> & typeof fixed) {
  return {
    trajectoryBodyBytes: bodyBytes,
    feedbackBodyBytes: Math.floor(bodyBytes / 8),
    chatBodyBytes: Math.floor(bodyBytes / 16),
    /**
     * Bytes of stored data that all answers may hold together; one key may hold half of it. A larger read waits until
     * it can run without others.
     */
    readBytesInFlight: Math.floor(bodyBytesInFlight / 4),
    chatParts: Math.floor(chatMessages / 4),
    chatTools: Math.floor(chatMessages / 4),
    chatStopStrings: Math.floor(chatMessages / 4),
    chatStopCharacters: chatMessages,
  };
}

export const httpSettings = section(schema, fixed, derivedSettings);

export type HttpSettings = SettingsIn<typeof httpSettings>;

/** Returns the limits for reading bodies. */
export function bodyLimits(settings: HttpSettings): BodyLimits {
  const { jsonDepth: depthMax, jsonValues, trajectoryJsonValues } = settings;
  return {
    ...settings,
    json: { depthMax, valuesMax: jsonValues },
    trajectoryJson: { depthMax, valuesMax: trajectoryJsonValues },
  };
}
