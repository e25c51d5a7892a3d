// The keys that requests came with, kept for the next ones: for a database that one server has to itself, where nothing
// changes what was read but that server's own writes.
import type { KeyStore, OpeningKey } from "../../../base/domain/access.ts";
import type { LimitStore } from "../../../base/domain/keys/limits.ts";

interface KeyStores {
  readonly keys: KeyStore;
  readonly limits: LimitStore;
}

/** Of more all are let go, and looked for again. */
const keptMax = 10_000;

/** The same stores, of which a key is found at once that was found before, and has not changed since, nor its entity's limits. */
export function keepFoundKeys({ keys, limits }: KeyStores): KeyStores {
  let found = new Map<string, OpeningKey>();
  const forget = (): void => {
    found = new Map();
  };
  /** What is looked for while it changes may be what it was: it is let go behind the change too. */
  const changing = async <Result>(change: Promise<Result>): Promise<Result> => {
    forget();
    return await change.finally(forget);
  };
  return {
    keys: {
      ...keys,
      create: (key) => changing(keys.create(key)),
      findByHash: async (secretHash) => {
        const known = found.get(secretHash);
        if (known !== undefined) return known;
        const before = found;
        const key = await keys.findByHash(secretHash);
        if (key === null || found !== before) return key;
        if (found.size >= keptMax) forget();
        found.set(secretHash, key);
        return key;
      },
      change: (id, choices) => changing(keys.change(id, choices)),
      rotate: (id, secretHash, previousUntil) => changing(keys.rotate(id, secretHash, previousUntil)),
      revoke: (id, at) => changing(keys.revoke(id, at)),
      markUsed: (ids, at) => changing(keys.markUsed(ids, at)),
    },
    limits: {
      ...limits,
      changeEntityLimits: (entity, changed) => changing(limits.changeEntityLimits(entity, changed)),
    },
  };
}
