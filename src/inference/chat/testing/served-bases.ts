// For tests: base models that are always in memory.
import { present } from "../../../base/domain/assert.ts";
import type { ServedBase, ServedBases } from "../served-base.ts";

/** Returns the given bases as {@link ServedBases}. `release` has no effect. */
export function servedBases(...bases: readonly ServedBase[]): ServedBases {
  return {
    use: async (name) => ({
      base: present(
        bases.find(({ model }) => model.name === name),
        "a base that is served",
      ),
      release: () => undefined,
    }),
  };
}
