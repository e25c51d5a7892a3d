// Key of a recorded completion, and the options of a request for its recording.

/** Identifies a recorded completion. References to the completion contain both fields (`call-reference.ts`). */
export interface CompletionKey {
  /** Project of the completion's model, as `<entity>/<project>`. */
  readonly projectId: string;
  /**
   * Id of the request, without the prefix `chatcmpl-`. If several completions have this id, it refers to the newest.
   */
  readonly requestId: string;
}

/** Options with which a request controls whether its completion is recorded. */
export interface RecordingWish {
  /** False if the request forbids its recording; null if it does not say. */
  readonly isWanted: boolean | null;
  readonly metadata: Readonly<Record<string, string>>;
}
