// A request body that is sent while it is produced, and is never completely in memory.

/** Content of an upload: a Blob, or a stream of chunks. */
export type Upload = Blob | AsyncIterable<Uint8Array>;

/** A request body, with a way to stop its producer. */
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

  /**
   * Stops the producer of the chunks. Necessary because a failed connection has started the producer, but does not
   * cancel the stream.
   */
  close(): void {
    this.#pieces?.return?.().catch(() => undefined);
  }
}
