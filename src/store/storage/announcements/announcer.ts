// Announcements as the stores make them, and within one process. A database of one server needs no more: its commands beside
// are found by those who look. Where there are several servers, the database carries them from one to the others.
import {
  type AnnouncedKind,
  announcedKinds,
  type Announcements,
} from "../../../base/domain/servers/announcements.ts";

export interface Announcer extends Announcements {
  /** Tells all who listen, a moment later, that something happened which is committed. */
  announce(kind: AnnouncedKind, id: string): void;
}

/** Announces to those who listen here. */
export class LocalAnnouncer implements Announcer {
  readonly #listeners = new Map<AnnouncedKind, Set<{ readonly hear: (id: string | null) => void }>>();

  announce(kind: AnnouncedKind, id: string): void {
    // Who changed something goes on before others look at it.
    queueMicrotask(() => this.#tell(kind, id));
  }

  /** Tells all who listen that they may have missed something. */
  announceGap(): void {
    for (const kind of announcedKinds) this.#tell(kind, null);
  }

  listen(kind: AnnouncedKind, hear: (id: string | null) => void): () => void {
    const listeners = this.#listeners.get(kind) ?? new Set();
    const listener = { hear };
    this.#listeners.set(kind, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  #tell(kind: AnnouncedKind, id: string | null): void {
    for (const { hear } of this.#listeners.get(kind) ?? []) hear(id);
  }
}
