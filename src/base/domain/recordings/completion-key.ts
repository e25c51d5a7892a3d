// As what a completion is recorded, and what a request says of that.

/** What names a recorded completion; a reference of a call has both (`call-reference`). */
export interface CompletionKey {
  /** `<entity>/<project>` of its model. */
  readonly projectId: string;
  /** Without the `chatcmpl-` prefix; one that is used again stands for its newest completion. */
  readonly requestId: string;
}

/** What a request says of its own recording. */
export interface RecordingWish {
  /** False: it is not to be recorded; null: the request did not say. */
  readonly isWanted: boolean | null;
  readonly metadata: Readonly<Record<string, string>>;
}
