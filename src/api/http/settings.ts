// Settings of the HTTP server: sizes, depths and times. First come the settings that an operator can change, then
// constants, then values derived from both.
import {
  section,
  type SettingsIn,
  type SettingsOf,
  type SettingsSchema,
} from "../../base/domain/settings.ts";
import type { BodyLimits } from "../wire/body-limits.ts";

const mebibyte = 1024 * 1024;
/** Maximum length of a string in V8. A body is parsed from a single string, so it cannot be larger. */
const bodyBytesMax = 480 * mebibyte;

const schema = {
  bodyBytes: {
    kind: "integer",
    default: 256 * mebibyte,
    min: mebibyte,
    max: bodyBytesMax,
    about:
      "Maximum size in bytes of a request with a training job, a log or an uploaded file. Requests with feedback may have an eighth of this size, chat requests a sixteenth.",
  },
  operatorRoutes: {
    kind: "choice",
    default: "auto",
    choices: ["auto", "open", "key"],
    about:
      "Access to `/metrics`, `/v1/system-check`, `/docs` and `/openapi.json`: `open` allows everyone, `key` requires an API key. With authentication on, `auto` requires a key, unless the server listens on a loopback address and the request's `Host` is a loopback address or `localhost`.",
  },
  corsOrigins: {
    kind: "list",
    default: [],
    about:
      "Origins of web pages that may call the API from a browser, such as `https://app.example:8443`. `*` allows all origins, if authentication is on. Default: none.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Maximum number of requests of one key in flight. Further requests get 429. A key may have a lower limit.
   */
  requestsPerKey: 512,
  /** Maximum number of messages in a chat request. It is far more than a model's context can hold. */
  chatMessages: 4096,
  /** Maximum nesting depth of JSON. Clients nest about a dozen levels at most. */
  jsonDepth: 64,
  /** Time in seconds after which a stream ends if its client reads nothing. */
  idleStreamSeconds: 60,
  /** Time limit in seconds for receiving a request with its body. A large body over a slow line takes minutes. */
  requestSeconds: 300,
  /**
   * Maximum number of connections; lower if the process may open only few files (apps/server/open-files). An entity, or
   * all clients without a key together, may have half of the connections that all others leave free. If a share is
   * exceeded, one of its connections is closed, or a request gets 429.
   */
  connections: 4096,
  /**
   * Maximum number of bytes in memory for large bodies (at least 64 KiB) and large answers (beyond their first MiB),
   * counted as they arrive. A server with little memory has a lower limit (apps/server/settings).
   */
  bodyBytesInFlight: 1024 * mebibyte,
  /**
   * Maximum size in bytes of bodies that no other setting limits. These bodies are small, because they carry no
   * content.
   */
  otherBodyBytes: mebibyte,
  /**
   * Maximum number of JSON values in a body, or in each record or group of a batch. Checking that many takes about a
   * second.
   */
  jsonValues: 200_000,
  /**
   * Maximum number of JSON values in one trajectory group. The limit is high because a group may be as large as a body,
   * and a separate thread checks the group.
   */
  trajectoryJsonValues: 10_000_000,
  /** Maximum number of groups or conversations in a training job or a log. */
  trajectoryGroups: 100_000,
  /**
   * Maximum number of requests that wait to read stored data, and the time after which such a request is refused. The
   * time is half of the minute that most clients wait for an answer.
   */
  readsWaiting: 256,
  readWaitSeconds: 30,
  /**
   * Maximum number of characters in all bad words of a request. After each token, the engine compares all of them with
   * the end of the answer, so many bad words make every token expensive.
   */
  chatBadWordCharacters: 65_536,
  /**
   * Maximum number of token ids in each of stop_token_ids and allowed_token_ids. Small vocabularies have no more
   * tokens.
   */
  chatTokenIds: 65_536,
  /** Maximum number of token ids in logit_bias. */
  chatBiases: 32_768,
  /** Maximum number of prompts in one text completion. The engine computes that many at the same time. */
  completionPrompts: 128,
  /**
   * Maximum number of requests with an unknown key, per address and minute, that get 401. Further ones get 429 until
   * the minute is over.
   */
  failedLoginsPerMinute: 30,
  /** Maximum number of records in one feedback batch. A larger batch gets 413, after which clients halve it. */
  feedbackBatchRecords: 10_000,
  /** Maximum number of tests in one check of a constraint, and the time limit in seconds for all of them. */
  checkTests: 1000,
  checkSeconds: 10,
  /**
   * Time in seconds without events after which a stream sends a comment. Proxies close streams that are silent for 30
   * to 60 s.
   */
  keepAliveSeconds: 10,
};

/** Returns the values that are derived from other settings. */
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
     * Maximum number of bytes of stored data that all answers together may hold; one entity may hold half of them. A
     * read that needs more waits until no other read runs.
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
