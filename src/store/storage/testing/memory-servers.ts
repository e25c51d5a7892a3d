// For tests: the server store in memory.
import { assert } from "../../../base/domain/assert.ts";
import type { ServerStore } from "../../../base/domain/servers/server-store.ts";
import type { Exclusively } from "./memory-tables.ts";

export function memoryServers(exclusively: Exclusively): ServerStore {
  return {
    create: (id, lease) =>
      exclusively((tables) => {
        assert(!tables.leases.has(id), "a new server");
        tables.leases = new Map([...tables.leases, [id, lease]]);
      }),
    renew: (id, until) =>
      exclusively((tables) => {
        const lease = tables.leases.get(id);
        if (lease !== undefined) tables.leases = new Map([...tables.leases, [id, { ...lease, until }]]);
        return lease !== undefined;
      }),
    has: (id) => exclusively((tables) => tables.leases.has(id)),
    serves: (baseModel, at) =>
      exclusively((tables) =>
        [...tables.leases.values()].some(
          ({ until, baseModels }) => until >= at && baseModels.includes(baseModel),
        ),
      ),
    keepsElsewhere: (place, at) =>
      exclusively((tables) =>
        [...tables.leases.values()].some(({ until, artifacts }) => until >= at && artifacts !== place),
      ),
    delete: (id) =>
      exclusively((tables) => {
        tables.leases = new Map([...tables.leases].filter(([other]) => other !== id));
      }),
    deleteExpired: ({ before, after }) =>
      exclusively((tables) => {
        const live = [...tables.leases].filter(([, { until }]) => until >= before && until <= after);
        tables.leases = new Map(live);
      }),
  };
}
