// The columns of limits: a key's own, and its entity's next to them under names of their own.
import { type KeyLimits, limitFields } from "../../../base/domain/keys/limits.ts";
import { columnsOf, type ColumnsOf } from "../columns/resource-columns.ts";

type LimitColumns = ColumnsOf<typeof limitFields>;

export const limitColumns = columnsOf(limitFields);
const { names } = limitColumns;

type EntityColumn = {
  [Column in keyof LimitColumns]: `entity_limits.${Column} as entity_${Column}`;
}[keyof LimitColumns];

// Safe cast: one for each column.
export const entityColumns = names.map((name) => `entity_limits.${name} as entity_${name}`) as EntityColumn[];

/** @param row null in all columns if the entity has no limits */
export function entityLimitsOf(row: {
  readonly [Column in keyof LimitColumns as `entity_${Column}`]: LimitColumns[Column];
}): KeyLimits {
  // Safe cast: a value for each column.
  return limitColumns.read(
    Object.fromEntries(names.map((name) => [name, row[`entity_${name}`]])) as unknown as LimitColumns,
  );
}
