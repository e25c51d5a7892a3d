// Key of a recorded completion, and a request's choice about its recording.

/** Identifies a recorded completion. References to the completion contain both fields (`call-reference.ts`). */
export interface CompletionKey {
  /** `<entity>/<project>` of the completion's model. */
  readonly projectId: string;
  /** Id of the request without the `chatcmpl-` prefix. If an id was reused, it refers to the newest completion. */
  readonly requestId: string;
}

/** A request's options for its own recording. */
export interface RecordingWish {
  /** False to prevent recording; null if the request does not set it. */
  readonly isWanted: boolean | null;
  readonly metadata: Readonly<Record<string, string>>;
}
