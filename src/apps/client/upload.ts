// A request body that is sent while it is produced, and never held in memory as a whole.

/** Content of an upload: existing bytes, or a stream of them. */
export type Upload = Blob | AsyncIterable<Uint8Array>;

/** The body of a request, with a way to stop its producer. */
export class UploadBody {
  readonly content: Blob | ReadableStream<Uint8Array>;
  readonly #pieces: AsyncIterator<Uint8Array> | null;

  constructor(upload: Upload) {
    if (upload instanceof Blob) {
      this.content = upload;
      this.#pieces = null;
      return;
    }
    const pieces = upload[Symbol.asyncIterator]();
    this.#pieces = pieces;
    this.content = new ReadableStream({
      pull: async (controller) => {
        const next = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: () => this.close(),
    });
  }

  /** Stops the producer of the chunks: a connection that fails has started it, and does not cancel the stream. */
  close(): void {
    this.#pieces?.return?.().catch(() => undefined);
  }
}
