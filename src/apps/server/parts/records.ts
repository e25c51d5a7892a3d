// Builds the storage and processing of records: feedback, annotation, files, traces, rewards, webhooks and retention.
// The composition root starts the automatic parts (rules, deliveries, sweeps) later, once the server is up.
import { freshSeed, seededRandom } from "../../../base/domain/random.ts";
import { trimAudit } from "../../../base/telemetry/audit-log.ts";
import { createAnnotationService } from "../../../judge/annotation/annotation-service.ts";
import { createFeedbackService } from "../../../judge/feedback/feedback-service.ts";
import { findSpecText } from "../../../judge/feedback/specs/annotation-specs.ts";
import { createObjectService } from "../../../judge/weave/object-service.ts";
import { createProjectTraces } from "../../../judge/weave/project-traces.ts";
import { keepPolicies } from "../../../store/retention/settings.ts";
import { createSweeper } from "../../../store/retention/sweeper.ts";
import { createFileService } from "../../../train/uploads/file-service.ts";
import { RewardService } from "../../../train/rewards/reward-service.ts";
import { LearningService } from "../../../train/learning/learning-service.ts";
import { RolloutService } from "../../../train/rollouts/rollout-service.ts";
import { RunningCalls } from "../../../train/rollouts/running-calls.ts";
import { AutomaticRules } from "../../../train/rewards/automatic/automatic-rules.ts";
import { readEgressAllowlist } from "../../../api/webhooks/egress-allowlist.ts";
import { Deliverer } from "../../../api/webhooks/deliverer.ts";
import { createWebhookService } from "../../../api/webhooks/webhook-service.ts";
import { readFilter } from "../../../api/wire/rewards/feedback-filter.ts";
import { auditFile } from "../audit-keys.ts";
import { eventWriter } from "../webhooks/event-writer.ts";
import type { Access } from "./access.ts";
import type { ServerContext, Start } from "./context.ts";
import type { Models } from "./models.ts";
import type { Training } from "./training.ts";

export async function buildRecords(
  context: ServerContext,
  { room }: Pick<Access, "room">,
  models: Pick<Models, "directory">,
  training: Training,
  start: Start,
) {
  const { settings, database, artifacts, server, audit, build, tools, warn } = context;
  const { clock, logger } = tools;
  const files = createFileService({
    store: database.files,
    uploads: database.uploads,
    clock,
    artifacts,
    settings: settings.files,
    onFault: warn("unused files could not be removed"),
  });
  await start(files);
  const objects = createObjectService({ store: database.objects, clock });
  const traces = createProjectTraces({
    store: database.traces,
    objects,
    artifacts,
    clock,
    settings: settings.traces,
    onFault: warn("unreferenced trace files could not be removed"),
  });
  await start(traces.files);
  const feedback = createFeedbackService(
    { store: database.feedback, queues: database.annotation, specs: database.objects, clock, room },
    settings.feedback,
  );
  const annotation = createAnnotationService({
    store: database.annotation,
    feedback,
    findSpec: (projectId, reference) => findSpecText(database.objects, projectId, reference),
    records: database.feedback,
    completions: database.completions,
    clock,
    settings: settings.annotation,
  });
  const { sequenceLengthMax } = settings.training;
  const rewardDependencies = { ...database, sequenceLengthMax, clock, settings: settings.rewards };
  const automaticRules = new AutomaticRules({
    ...rewardDependencies,
    queue: { ...database, clock, settings: settings.rollouts },
    submit: (job, lines, more) => training.http.jobQueue.submit(job, lines, null, more),
    conditionOf: (filter) => readFilter(filter, feedback.queryLimits),
    owner: server,
    logger,
  });
  const allowed = readEgressAllowlist(settings.webhooks.allowed);
  const deliverer = new Deliverer(
    {
      ...tools,
      store: database.webhooks,
      writeEventBody: eventWriter(database),
      allowed,
      userAgent: build,
      random: seededRandom(freshSeed()),
    },
    settings.webhooks,
  );
  const running = new RunningCalls({
    ...database,
    clock,
    onFault: warn("ended rollouts could not be found"),
  });
  await start(running);
  const rollouts = new RolloutService({
    ...database,
    clock,
    settings: settings.rollouts,
    running,
    isRecordingOff: settings.recordings.record === "off",
  });
  const { retention: store } = database;
  const policies = keepPolicies(settings.retention);
  const sweeper = createSweeper({
    ...tools,
    store,
    policies,
    settings: settings.retention,
    owner: server,
    clearDead: async () => {
      await rollouts.deleteOld();
      await training.clearDead();
    },
    trimAudit: (before) => trimAudit(auditFile(settings), before, clock.now()),
    audit,
  });
  return {
    /** Services to start once the server is up, unless it only trains. */
    workers: [automaticRules, deliverer],
    http: {
      feedback,
      rewards: new RewardService(rewardDependencies),
      rollouts,
      learning: new LearningService({
        learning: database.learning,
        directory: models.directory,
        jobQueue: training.http.jobQueue,
        clock,
        isRecordingOff: settings.recordings.record === "off",
      }),
      annotation,
      objects,
      traces,
      files,
      webhooks: createWebhookService({
        store: database.webhooks,
        clock,
        allowed,
        settings: settings.webhooks,
      }),
      retention: { store, sweeper, policies },
    },
  };
}
