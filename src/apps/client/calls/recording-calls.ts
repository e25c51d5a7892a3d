// What trained models answered, as it is recorded.
import type { Page, StoredChatCompletion } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const completions = "/v1/chat/completions";

/** Which recorded completions; what is left out lets all through. */
export type RecordedFilter = QueryOf<`GET ${typeof completions}`>;

/** `hone.recordings`; a request's id is taken with or without `chatcmpl-`. */
export class RecordingCalls extends CallGroup {
  /** One whole, with what feedback there is on it. */
  readonly get = this.search(`GET ${completions}/{request_id}`);
  /** Removes one for good; feedback on it stays. */
  readonly delete = this.search(`DELETE ${completions}/{request_id}`);

  /** Each without log-probabilities; the newest first unless asked. */
  list(
    filter: RecordedFilter = {},
    options?: RequestOptions,
  ): Pages<StoredChatCompletion, Page<StoredChatCompletion>> {
    return this.calls.pages(`GET ${completions}`, { query: { order: "desc", ...filter } }, options);
  }
}
