// A body that is sent as it is made, and never in memory as a whole.

/** What is sent: bytes that are there, or that come. */
export type Upload = Blob | AsyncIterable<Uint8Array>;

/** The body of a request, and how to end what makes it. */
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

  /** Ends what makes the pieces: a connection that cannot be made has begun them, and does not cancel the stream. */
  close(): void {
    this.#pieces?.return?.().catch(() => undefined);
  }
}
