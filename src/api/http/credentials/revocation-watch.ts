// Turns out who was let in: what runs for a key ends soon after it is revoked or has expired. Knows no requests; whoever
// runs something says what ends it.
import type { KeyStore } from "../../../base/domain/access.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { Announcements } from "../../../base/domain/servers/announcements.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { waitOver } from "../../../base/domain/waiting/wait-over.ts";
import { Notifier } from "../../../train/jobs/notifier.ts";

/** How long an answer that runs may outlive its key, where nobody announces that it changed. */
const revocationCheckMs = 1000;

/** Ends what runs for a key that is revoked or expires meanwhile: while anything runs, one query asks for all keys at once. */
export class RevocationWatch {
  readonly #keys: Pick<KeyStore, "findEnded">;
  readonly #clock: Clock;
  readonly #running = new Set<{ readonly keyId: string; readonly end: (reason: ServiceError) => void }>();
  #asking: { readonly end: AbortController; readonly notifier: Notifier } | null = null;

  constructor(
    {
      keys,
      announcements,
    }: { readonly keys: Pick<KeyStore, "findEnded">; readonly announcements: Announcements },
    clock: Clock,
  ) {
    this.#keys = keys;
    this.#clock = clock;
    announcements.listen("key-changed", () => this.#asking?.notifier.notify());
  }

  /**
   * @param end called at most once, with `unauthorized`
   * @returns the function to call when nothing runs any more; calling it twice is harmless
   */
  enter(keyId: string, end: (reason: ServiceError) => void): () => void {
    const entry = { keyId, end };
    this.#running.add(entry);
    if (this.#asking === null) {
      this.#asking = { end: new AbortController(), notifier: new Notifier(this.#clock) };
      void this.#ask(this.#asking.notifier, this.#asking.end.signal);
    }
    return () => {
      this.#running.delete(entry);
      if (this.#running.size > 0) return;
      this.#asking?.end.abort(waitOver);
      this.#asking = null;
    };
  }

  async #ask(notifier: Notifier, signal: AbortSignal): Promise<void> {
    for (;;) {
      await notifier.wait(revocationCheckMs, { signal });
      if (signal.aborted) return;
      try {
        const keyIds = new Set([...this.#running].map(({ keyId }) => keyId));
        const ended = await this.#keys.findEnded([...keyIds], this.#clock.now());
        for (const entry of this.#running) if (ended.includes(entry.keyId)) this.#end(entry);
      } catch {
        // The database is away: that is seen elsewhere, and asked again here.
      }
    }
  }

  #end(entry: { readonly keyId: string; readonly end: (reason: ServiceError) => void }): void {
    this.#running.delete(entry);
    entry.end(
      new ServiceError({
        code: "unauthorized",
        message: "This key was revoked or has expired; what ran for it has ended.",
      }),
    );
  }
}
