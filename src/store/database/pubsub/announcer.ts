// Announces changes within one process, and wraps stores so that they announce their changes after the commit. A
// database with a single server needs no more. If several servers share a database, the database sends announcements
// between them.
import {
  type AnnouncedKind,
  announcedKinds,
  type Announcements,
} from "../../../base/domain/servers/pubsub.ts";
import type { KeyStore } from "../../../base/domain/access.ts";
import type { JobStore } from "../../../base/domain/job.ts";
import type { ModelStore } from "../../../base/domain/model.ts";

export interface Announcer extends Announcements {
  /** Announces a committed change. All listeners are called asynchronously. */
  announce(kind: AnnouncedKind, id: string): void;
}

/** Sends announcements only to listeners in this process. */
export class LocalAnnouncer implements Announcer {
  readonly #listeners = new Map<AnnouncedKind, Set<{ readonly hear: (id: string | null) => void }>>();

  announce(kind: AnnouncedKind, id: string): void {
    // Calls the listeners only after the caller's current task.
    queueMicrotask(() => this.#tell(kind, id));
  }

  /** Informs all listeners that they may have missed announcements. */
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

interface AnnouncedStores {
  readonly keys: KeyStore;
  readonly models: ModelStore;
  readonly jobs: JobStore;
}

/** Wraps the stores so that they announce their changes. */
export function announcingStores(
  { keys, models, jobs }: AnnouncedStores,
  announcer: Announcer,
): AnnouncedStores {
  return {
    keys: {
      ...keys,
      change: async (id, choices) => {
        const changed = await keys.change(id, choices);
        if (changed !== null) announcer.announce("key-changed", id);
        return changed;
      },
      revoke: async (id, at) => {
        const isRevoked = await keys.revoke(id, at);
        if (isRevoked) announcer.announce("key-changed", id);
        return isRevoked;
      },
    },
    models: {
      ...models,
      addVersion: async (draft, place) => {
        const version = await models.addVersion(draft, place);
        announcer.announce("version-published", draft.modelId);
        return version;
      },
    },
    jobs: {
      ...jobs,
      create: async (...job) => {
        const created = await jobs.create(...job);
        if (created.isNew) announcer.announce("job-queued", created.id);
        return created;
      },
      succeed: async (id, success) => {
        await jobs.succeed(id, success);
        if (success.version !== null) announcer.announce("version-published", success.version.modelId);
      },
      requestCancel: async (id, at) => {
        const state = await jobs.requestCancel(id, at);
        if (state === "running") announcer.announce("job-cancelled", id);
        return state;
      },
    },
  };
}
