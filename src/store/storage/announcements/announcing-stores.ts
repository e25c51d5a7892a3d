// Stores that announce what they changed, once it is committed. A store knows nothing of it.
import type { KeyStore } from "../../../base/domain/access.ts";
import type { JobStore } from "../../../base/domain/job.ts";
import type { ModelStore } from "../../../base/domain/model.ts";
import type { Announcer } from "./announcer.ts";

interface AnnouncedStores {
  readonly keys: KeyStore;
  readonly models: ModelStore;
  readonly jobs: JobStore;
}

/** The same stores, which announce. */
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
