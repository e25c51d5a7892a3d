// For tests: limits of entities and what servers counted together, in memory.
import { noLimits, type LimitStore } from "../../../base/domain/keys/limits.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Exclusively } from "./memory-tables.ts";

export function memoryLimits(exclusively: Exclusively): LimitStore {
  return {
    findEntityLimits: (entity) => exclusively(({ entityLimits }) => entityLimits.get(entity) ?? noLimits),
    changeEntityLimits: (entity, limits) =>
      exclusively((tables) => {
        const changed = { ...(tables.entityLimits.get(entity) ?? noLimits), ...limits };
        tables.entityLimits = new Map([...tables.entityLimits, [entity, changed]]);
        return changed;
      }),
    isShared: true,
    exchange: ({ serverId, slots, running, subjects, sinceSlot, now }) =>
      exclusively((tables) => {
        if (running.length > 0 && !tables.leases.has(serverId))
          throw new ServiceError({ code: "internal", message: `${serverId} has no lease.` });
        const all = new Map(tables.limitSlots.map((one) => [`${one.slot} ${one.subject}`, one]));
        for (const one of slots) {
          const before = all.get(`${one.slot} ${one.subject}`) ?? { requests: 0, tokens: 0 };
          all.set(`${one.slot} ${one.subject}`, {
            ...one,
            requests: before.requests + one.requests,
            tokens: before.tokens + one.tokens,
          });
        }
        tables.limitSlots = [...all.values()];
        const said = new Set(running.map(({ subject }) => subject));
        tables.limitRunning = [
          ...tables.limitRunning.filter(({ server, subject }) => server !== serverId || !said.has(subject)),
          ...running.map((one) => ({ ...one, server: serverId })),
        ];
        const others = tables.limitRunning.filter(({ server, subject }) => {
          const lease = tables.leases.get(server);
          return (
            server !== serverId && subjects.includes(subject) && lease !== undefined && lease.until >= now
          );
        });
        return {
          slots: tables.limitSlots.filter(
            ({ slot, subject }) => slot >= sinceSlot && subjects.includes(subject),
          ),
          othersRunning: [...new Set(others.map(({ subject }) => subject))].map((subject) => ({
            subject,
            count: others.filter((one) => one.subject === subject).reduce((sum, { count }) => sum + count, 0),
          })),
        };
      }),
    sweepSlots: (before) =>
      exclusively((tables) => {
        tables.limitSlots = tables.limitSlots.filter(({ slot }) => slot >= before);
      }),
  };
}
