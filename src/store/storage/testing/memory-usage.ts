// For tests: what keys have used, in memory.
import {
  addedUsage,
  parseUsageId,
  usageId,
  type UsageRow,
  type UsageStore,
} from "../../../base/domain/keys/usage.ts";
import { unknownCursor } from "../paging.ts";
import type { Exclusively, Tables } from "./memory-tables.ts";

export function memoryUsage(exclusively: Exclusively): UsageStore {
  return {
    add: (rows) => exclusively((tables) => addUsage(tables, rows)),
    list: (filter, { after, limit, order }) =>
      exclusively(({ usage }) => {
        const last = after === null ? null : parseUsageId(after);
        if (after !== null && last === null) throw unknownCursor(after);
        const inOrder = usage.toSorted(compare);
        const rows = (order === "asc" ? inOrder : inOrder.toReversed()).filter(
          (row) =>
            row.entity === (filter.entity ?? row.entity) &&
            row.keyId === (filter.keyId ?? row.keyId) &&
            row.model === (filter.model ?? row.model) &&
            row.day >= (filter.from ?? row.day) &&
            row.day <= (filter.to ?? row.day) &&
            (last === null || (order === "asc" ? compare(row, last) > 0 : compare(row, last) < 0)),
        );
        return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
      }),
  };
}

export function addUsage(tables: Tables, rows: readonly UsageRow[]): void {
  const all = new Map(tables.usage.map((row) => [usageId(row), row]));
  for (const row of rows) {
    const before = all.get(usageId(row));
    all.set(usageId(row), before === undefined ? row : { ...row, ...addedUsage(before, row) });
  }
  tables.usage = [...all.values()];
}

type Place = Pick<UsageRow, "day" | "keyId" | "model">;

function compare(one: Place, other: Place): number {
  for (const part of ["day", "keyId", "model"] as const)
    if (one[part] !== other[part]) return one[part] < other[part] ? -1 : 1;
  return 0;
}
