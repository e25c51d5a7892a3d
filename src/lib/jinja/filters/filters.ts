// All filters for chat templates: Jinja's own filters, except those that make HTML links.
import type { Filter } from "../run/run.ts";
import { itemFilters } from "./item-filters.ts";
import { textFilters } from "./text-filters.ts";
import { valueFilters } from "./value-filters.ts";

export const filters: ReadonlyMap<string, Filter> = new Map(
  Object.entries({ ...textFilters, ...itemFilters, ...valueFilters }),
);
