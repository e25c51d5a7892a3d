// Key of a recorded completion, and a request's choice about its recording.

/** Key of a recorded completion; a reference of a call holds both parts (`call-reference`). */
export interface CompletionKey {
  /** `<entity>/<project>` of its model. */
  readonly projectId: string;
  /** Without the `chatcmpl-` prefix; a reused id names its newest completion. */
  readonly requestId: string;
}

/** A request's choice about its own recording. */
export interface RecordingWish {
  /** False to prevent recording; null if the request does not say. */
  readonly isWanted: boolean | null;
  readonly metadata: Readonly<Record<string, string>>;
}
