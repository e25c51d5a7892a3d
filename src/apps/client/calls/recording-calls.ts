// What trained models answered, as it is recorded.
import type { Page, RecordedCompletion, RecordedDeletion, StoredChatCompletion } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const completions = "/v1/chat/completions";

/** Which recorded completions; what is left out lets all through. */
export type RecordedFilter = QueryOf<`GET ${typeof completions}`>;

/** Which project a request's answer is recorded in, where several have one of its id. */
export type RecordedPlace = QueryOf<`GET ${typeof completions}/{request_id}`>;

/** `hone.recordings` */
export class RecordingCalls extends CallGroup {
  /** Each without log-probabilities; the newest first unless asked. */
  list(
    filter: RecordedFilter = {},
    options?: RequestOptions,
  ): Pages<StoredChatCompletion, Page<StoredChatCompletion>> {
    return this.calls.pages(`GET ${completions}`, { query: { order: "desc", ...filter } }, options);
  }

  /** One whole, with what feedback there is on it. @param requestId with or without `chatcmpl-` */
  get(requestId: string, place: RecordedPlace = {}, options?: RequestOptions): Promise<RecordedCompletion> {
    const input = { path: { request_id: requestId }, query: place };
    return this.calls.value(`GET ${completions}/{request_id}`, input, options);
  }

  /** Removes one for good; feedback on it stays. */
  delete(requestId: string, place: RecordedPlace = {}, options?: RequestOptions): Promise<RecordedDeletion> {
    const input = { path: { request_id: requestId }, query: place };
    return this.calls.value(`DELETE ${completions}/{request_id}`, input, options);
  }
}
