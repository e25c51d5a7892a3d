// For tests: the feedback that jobs came from, in memory.
import type { JobDraft } from "../../../base/domain/job.ts";
import {
  answerId,
  feedbackMark,
  type FeedbackOrigin,
  type TrainingSourceStore,
} from "../../../base/domain/rewards/training-source.ts";
import { conflict, type Exclusively, jsonBytes, pageOf, type Tables } from "./memory-tables.ts";

export function memorySources(exclusively: Exclusively): TrainingSourceStore {
  return {
    trainedOn: (modelId, answers) =>
      exclusively((tables) => {
        const ids = new Set(answers.map(answerId));
        return new Map([...marksOf(tables, modelId)].filter(([id]) => ids.has(id)));
      }),
    list: (jobId, page) =>
      exclusively(({ sources }) => {
        const listed = sources
          .filter((source) => source.jobId === jobId)
          .map(({ jobId: _jobId, ...source }, index) => ({ id: String(index + 1), ...source }));
        return pageOf(listed, page, { bytesOf: jsonBytes });
      }),
  };
}

function marksOf(tables: Tables, modelId: string): ReadonlyMap<string, ReadonlySet<string>> {
  const counts = new Set(
    tables.jobs
      .filter(({ job }) => job.modelId === modelId && job.state !== "failed" && job.state !== "cancelled")
      .map(({ job }) => job.id),
  );
  const marks = new Map<string, Set<string>>();
  for (const source of tables.sources) {
    if (source.use !== "trained" || !counts.has(source.jobId)) continue;
    const known = marks.get(answerId(source)) ?? new Set();
    marks.set(answerId(source), known);
    for (const record of source.feedback) known.add(feedbackMark(record));
  }
  return marks;
}

/** Keeps what a job comes from, and what that means to the standing rule that made it. */
export function addOrigin(tables: Tables, job: JobDraft, { sources, standing }: FeedbackOrigin): void {
  if (standing !== null) {
    const { ruleId, owner, updatedAt } = standing.hold;
    const isHeld = tables.rules.some(
      (kept) =>
        kept.rule.id === ruleId &&
        kept.owner === owner &&
        kept.rule.updatedAt.getTime() === updatedAt.getTime() &&
        !kept.rule.isPaused,
    );
    if (!isHeld) throw conflict("The rule is not held.");
    const made = { id: job.id, createdAt: job.createdAt, tokenCount: standing.tokenCount };
    tables.rules = tables.rules.map((kept) => {
      if (kept.rule.id !== ruleId) return kept;
      const prompts = new Map(kept.prompts);
      for (const hash of standing.promptHashes)
        if (prompts.has(hash)) prompts.set(hash, { readySince: null, jobId: job.id });
      return { ...kept, fault: null, prompts, jobs: [...kept.jobs, made] };
    });
  }
  const marks = marksOf(tables, job.modelId);
  for (const source of sources) {
    const known = marks.get(answerId(source));
    if (source.use === "trained" && source.feedback.some((one) => one.isNew && known?.has(feedbackMark(one))))
      throw conflict("Another job trains on it.");
  }
  tables.sources = [...tables.sources, ...sources.map((source) => ({ ...source, jobId: job.id }))];
}

export function retakeOrigin(tables: Tables, job: JobDraft, triedId: string): void {
  const sources = tables.sources
    .filter(({ jobId }) => jobId === triedId)
    .map(({ jobId: _jobId, ...source }) => source);
  if (sources.length > 0) addOrigin(tables, job, { sources, standing: null });
}
