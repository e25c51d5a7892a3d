// Calls for recorded completions of trained models.
import type { Page, StoredChatCompletion } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const completions = "/v1/chat/completions";

/** Filter for recorded completions; an omitted field matches all. */
export type RecordedFilter = QueryOf<`GET ${typeof completions}`>;

/** The call group `hone.recordings`. Request ids are accepted with or without the prefix `chatcmpl-`. */
export class RecordingCalls extends CallGroup {
  /** Returns a whole completion with its feedback. */
  readonly get = this.search(`GET ${completions}/{request_id}`);
  /** Deletes a completion permanently; feedback on it is kept. */
  readonly delete = this.search(`DELETE ${completions}/{request_id}`);

  /** Lists completions without log probabilities, newest first by default. */
  list(
    filter: RecordedFilter = {},
    options?: RequestOptions,
  ): Pages<StoredChatCompletion, Page<StoredChatCompletion>> {
    return this.calls.pages(`GET ${completions}`, { query: { order: "desc", ...filter } }, options);
  }
}
