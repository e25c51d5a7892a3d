// For tests: the key store in memory.
import type { AccessKey, KeyStore } from "../../domain/access.ts";
import { conflict, type Exclusively, pageOf } from "./memory-tables.ts";

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
    findByHash: (secretHash) =>
      exclusively(
        ({ keys }) => keys.find((key) => key.secretHash === secretHash && key.revokedAt === null) ?? null,
      ),
    findRevoked: (ids) =>
      exclusively(({ keys }) =>
        keys.filter((key) => ids.includes(key.id) && key.revokedAt !== null).map(({ id }) => id),
      ),
    list: (page) => exclusively(({ keys }) => pageOf(keys, page)),
    revoke: (id, at) =>
      exclusively((tables) => {
        const isLive = (key: AccessKey) => key.id === id && key.revokedAt === null;
        const found = tables.keys.some(isLive);
        tables.keys = tables.keys.map((key) => (isLive(key) ? { ...key, revokedAt: at } : key));
        return found;
      }),
  };
}
