// For tests: the stores in memory, obviously right and nothing else. One call at a time, each from its first read to
// its last write, so that nothing can come between; all connections of a storage share what is kept.
import { type Clock, systemClock } from "../../../base/domain/clock.ts";
import { ownClock } from "../../../base/domain/servers/shared-clock.ts";
import { LocalAnnouncer } from "../announcements/announcer.ts";
import { newestDatabaseVersion } from "../migrations/migrations.ts";
import { announcingStores } from "../announcements/announcing-stores.ts";
import type { Stores } from "../stores.ts";
import { memoryCompletions } from "./memory-completions.ts";
import { memoryAnnotation } from "./memory-annotation.ts";
import { memoryFeedback } from "./memory-feedback.ts";
import { memoryFiles } from "./memory-files.ts";
import { memoryJobs } from "./memory-jobs.ts";
import { memoryKeys } from "./memory-keys.ts";
import { memoryLimits } from "./memory-limits.ts";
import { memoryUsage } from "./memory-usage.ts";
import { memoryModels } from "./memory-models.ts";
import { memoryRetention } from "./memory-retention.ts";
import { memoryRules } from "./memory-rules.ts";
import { memoryServers } from "./memory-servers.ts";
import type { Exclusively, Tables } from "./memory-tables.ts";
import { memorySources } from "./memory-sources.ts";
import { memoryObjects } from "./memory-objects.ts";
import { memoryTraces } from "./memory-traces.ts";
import { memoryTrajectories } from "./memory-trajectories.ts";
import { memoryWebhooks } from "./memory-webhooks.ts";

/** An empty place; each call of the result opens what is kept there. */
export function memoryStorage(clock: Clock = systemClock): () => Stores {
  let tables: Tables = {
    keys: [],
    usage: [],
    entityLimits: new Map(),
    limitSlots: [],
    limitRunning: [],
    models: [],
    versions: [],
    jobs: [],
    turns: [],
    logs: [],
    outlines: [],
    outlineCounts: new Map(),
    completions: [],
    completionCount: 0,
    feedback: [],
    feedbackOrder: [],
    revisions: [],
    files: [],
    queues: [],
    items: [],
    webhooks: [],
    deliveries: [],
    clock,
    objects: [],
    publishedCounts: new Map(),
    tracedTables: [],
    tracedFiles: [],
    tracedCalls: new Map(),
    leases: new Map(),
    uses: [],
    rules: [],
    removed: [],
    sweeper: null,
    sources: [],
  };
  const exclusively: Exclusively = async (work) => {
    const changed = { ...tables };
    const result = work(changed);
    tables = changed;
    return result;
  };
  const announcements = new LocalAnnouncer();
  const announced = {
    keys: memoryKeys(exclusively),
    models: memoryModels(exclusively),
    jobs: memoryJobs(exclusively),
  };
  return () => ({
    ...announcingStores(announced, announcements),
    usage: memoryUsage(exclusively),
    limits: memoryLimits(exclusively),
    trajectories: memoryTrajectories(exclusively),
    completions: memoryCompletions(exclusively),
    feedback: memoryFeedback(exclusively),
    annotation: memoryAnnotation(exclusively),
    files: memoryFiles(exclusively),
    objects: memoryObjects(exclusively),
    traces: memoryTraces(exclusively),
    servers: memoryServers(exclusively),
    rules: memoryRules(exclusively),
    sources: memorySources(exclusively),
    webhooks: memoryWebhooks(exclusively),
    announcements,
    retention: memoryRetention(exclusively),
    clock: ownClock(clock),
    version: async () => ({ version: newestDatabaseVersion, servesFrom: newestDatabaseVersion }),
    fault: () => null,
    damage: () => null,
    close: async () => undefined,
  });
}
