// For tests: the key store in memory.
import type { AccessKey, KeyStore } from "../../../base/domain/access.ts";
import { noLimits } from "../../../base/domain/keys/limits.ts";
import { conflict, type Exclusively, pageOf, type Tables } from "./memory-tables.ts";

export function memoryKeys(exclusively: Exclusively): KeyStore {
  return {
    create: (key) =>
      exclusively((tables) => {
        const isTaken = tables.keys.some(
          ({ id, secretHash }) => id === key.id || secretHash === key.secretHash,
        );
        if (isTaken) throw conflict("The key exists.");
        tables.keys = [...tables.keys, key];
      }),
    find: (id) => exclusively(({ keys }) => keys.find((key) => key.id === id) ?? null),
    findByHash: (hash) =>
      exclusively(({ keys, entityLimits }) => {
        const live = keys.filter(({ revokedAt }) => revokedAt === null);
        const own = live.find(({ secretHash }) => secretHash === hash);
        const found = own ?? live.find(({ previous }) => previous?.secretHash === hash) ?? null;
        return found && { ...found, entityLimits: entityLimits.get(found.entity) ?? noLimits };
      }),
    findEnded: (ids, at) =>
      exclusively(({ keys }) =>
        keys
          .filter(({ id }) => ids.includes(id))
          .filter(({ revokedAt, expiresAt }) => revokedAt !== null || (expiresAt !== null && expiresAt <= at))
          .map(({ id }) => id),
      ),
    list: (page, { entity = null } = {}) =>
      exclusively(({ keys }) =>
        pageOf(
          keys.filter((key) => entity === null || key.entity === entity),
          page,
          { places: keys },
        ),
      ),
    change: (id, choices) =>
      exclusively((tables) => replaceLive(tables, id, (key) => ({ ...key, ...choices }))),
    rotate: (id, secretHash, until) =>
      exclusively((tables) =>
        replaceLive(tables, id, (key) => ({
          ...key,
          secretHash,
          previous: { secretHash: key.secretHash, until },
        })),
      ),
    revoke: (id, at) =>
      exclusively((tables) => replaceLive(tables, id, (key) => ({ ...key, revokedAt: at })) !== null),
    markUsed: (ids, at) =>
      exclusively((tables) => {
        tables.keys = tables.keys.map((key) =>
          ids.includes(key.id) && (key.lastUsedAt === null || key.lastUsedAt < at)
            ? { ...key, lastUsedAt: at }
            : key,
        );
      }),
  };
}

/** Null when there is no such live key. */
function replaceLive(tables: Tables, id: string, change: (key: AccessKey) => AccessKey): AccessKey | null {
  const key = tables.keys.find((one) => one.id === id && one.revokedAt === null);
  if (key === undefined) return null;
  const changed = change(key);
  tables.keys = tables.keys.map((one) => (one === key ? changed : one));
  return changed;
}
