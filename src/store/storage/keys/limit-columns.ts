// The columns of limits: a key's own, and its entity's next to them under names of their own.
import { type KeyLimits, limitFields, limitNames } from "../../../base/domain/keys/limits.ts";
import { snakeCase } from "../../../base/domain/text/names.ts";
import { columnsOf, type ColumnsOf } from "../columns/resource-columns.ts";

type LimitColumns = ColumnsOf<typeof limitFields>;

export const limitColumns = columnsOf(limitFields);

// Safe cast: a column is its field's name in snake case.
const names = limitNames.map(snakeCase) as readonly (keyof LimitColumns)[];

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
