// Access keys as rows.
import type { Insertable, Selectable } from "kysely";
import { type AccessKey, keyFields, type KeyRole } from "../../../base/domain/access.ts";
import { columnsOf } from "../columns/resource-columns.ts";
import type { AccessKeyTable } from "../schema.ts";

export const keyColumns = columnsOf(keyFields);

export function rowOf(key: AccessKey): Omit<Insertable<AccessKeyTable>, "sequence"> {
  return {
    id: key.id,
    entity: key.entity,
    role: key.role,
    owner: key.owner,
    secret_hash: key.secretHash,
    created_at: key.createdAt.toISOString(),
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    previous_hash: key.previous?.secretHash ?? null,
    previous_until: key.previous?.until.toISOString() ?? null,
    ...keyColumns.write(key),
  };
}

export function keyOf(row: Selectable<AccessKeyTable>): AccessKey {
  return {
    id: row.id,
    entity: row.entity,
    // The column holds what `rowOf` wrote.
    role: row.role as KeyRole,
    owner: row.owner,
    ...keyColumns.read(row),
    secretHash: row.secret_hash,
    previous:
      row.previous_hash === null || row.previous_until === null
        ? null
        : { secretHash: row.previous_hash, until: new Date(row.previous_until) },
    createdAt: new Date(row.created_at),
    lastUsedAt: dateOf(row.last_used_at),
    revokedAt: dateOf(row.revoked_at),
  };
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
