// For tests: the store of reward rules in memory.
import type { RuleStore, StandingHold, StoredRule } from "../../../base/domain/rewards/stored-rule.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import { conflict, type Exclusively, type KeptRule, pageOf, type Tables } from "./memory-tables.ts";

const unread = { cursor: null, fault: null, notes: [], prompts: new Map() } as const;

export function memoryRules(exclusively: Exclusively): RuleStore {
  return {
    create: (rule, { countMax }) =>
      exclusively((tables) => {
        const ofProject = tables.rules.filter((kept) => isOfProject(kept, rule));
        if (ofProject.length >= countMax) throw conflict("There are too many rules.");
        requireFreeName(tables, rule);
        requireModel(tables, rule);
        tables.rules = [...tables.rules, { rule, owner: null, ...unread, jobs: [] }];
      }),
    find: (id) => exclusively((tables) => findRule(tables, id)),
    list: ({ entity, project, modelId }, page) =>
      exclusively((tables) => {
        const listed = tables.rules
          .map((kept) => shown(tables, kept))
          .filter(
            (rule) =>
              rule.entity === (entity ?? rule.entity) &&
              rule.project === (project ?? rule.project) &&
              (modelId === null || rule.standing?.modelId === modelId),
          );
        return pageOf(listed, page);
      }),
    replace: (id, changes) =>
      exclusively((tables) => {
        const before = findRule(tables, id);
        if (before === null) return null;
        const rule = { ...before, ...changes };
        requireFreeName(tables, rule);
        requireModel(tables, rule);
        change(tables, id, (kept) => ({ ...kept, ...unread, rule }));
        return rule;
      }),
    setPaused: (id, isPaused, updatedAt) =>
      exclusively((tables) => {
        change(tables, id, (kept) =>
          kept.rule.isPaused === isPaused
            ? kept
            : { ...kept, fault: null, rule: { ...kept.rule, isPaused, updatedAt } },
        );
        return findRule(tables, id);
      }),
    delete: (id) =>
      exclusively((tables) => {
        const rest = tables.rules.filter(({ rule }) => rule.id !== id);
        const isThere = rest.length < tables.rules.length;
        tables.rules = rest;
        return isThere;
      }),
    ...standing(exclusively),
  };
}

function standing(
  exclusively: Exclusively,
): Pick<
  RuleStore,
  | "claim"
  | "progress"
  | "advance"
  | "notesOf"
  | "notedPrompts"
  | "readyPrompts"
  | "releaseFailed"
  | "setFault"
> {
  return {
    claim: (owner) =>
      exclusively((tables) => {
        const isActive = (kept: KeptRule): boolean =>
          shown(tables, kept).standing !== null && !kept.rule.isPaused;
        const isFree = (kept: KeptRule): boolean => kept.owner === null || !tables.leases.has(kept.owner);
        if (tables.leases.has(owner))
          tables.rules = tables.rules.map((kept) =>
            isActive(kept) && isFree(kept) ? { ...kept, owner } : kept,
          );
        return tables.rules
          .filter((kept) => isActive(kept) && kept.owner === owner)
          .map((kept) => shown(tables, kept));
      }),
    progress: (id, since) =>
      exclusively((tables) => {
        const kept = tables.rules.find(({ rule }) => rule.id === id);
        if (kept === undefined) return null;
        const jobs = kept.jobs.toReversed();
        return {
          cursor: kept.cursor,
          readyCount: [...kept.prompts.values()].filter(({ readySince }) => readySince !== null).length,
          jobs: jobs.filter(({ createdAt }) => createdAt > since),
          lastJob: jobs[0] ?? null,
          fault: kept.fault,
        };
      }),
    advance: (hold, { from, to, notes, prompts }) =>
      exclusively((tables) => {
        const kept = held(tables, hold);
        if (kept === undefined || kept.cursor !== from) return false;
        const noted = new Set(notes.map(({ feedbackId }) => feedbackId));
        const others = kept.notes.filter(({ feedbackId }) => !noted.has(feedbackId));
        const looked = [...prompts].map(([hash, isReady]) => {
          const jobId = kept.prompts.get(hash)?.jobId ?? null;
          return [hash, { readySince: isReady ? (to ?? 0) : null, jobId }] as const;
        });
        change(tables, hold.ruleId, () => ({
          ...kept,
          cursor: to,
          notes: [...others, ...notes],
          prompts: new Map([...kept.prompts, ...looked]),
        }));
        return true;
      }),
    notesOf: (id, promptHash, limit) =>
      exclusively((tables) => {
        const notes = tables.rules.find(({ rule }) => rule.id === id)?.notes ?? [];
        const ids = notes.filter((note) => note.promptHash === promptHash).map((note) => note.feedbackId);
        return ids.toSorted().toReversed().slice(0, limit);
      }),
    notedPrompts: (id, feedbackIds) =>
      exclusively((tables) => {
        const notes = tables.rules.find(({ rule }) => rule.id === id)?.notes ?? [];
        const noted = notes.filter(({ feedbackId }) => feedbackIds.includes(feedbackId));
        return [...new Set(noted.map(({ promptHash }) => promptHash))];
      }),
    readyPrompts: (id, limit) =>
      exclusively((tables) => {
        const prompts = tables.rules.find(({ rule }) => rule.id === id)?.prompts ?? [];
        return [...prompts]
          .flatMap(([hash, { readySince: ready }]) => (ready === null ? [] : [{ hash, ready }]))
          .toSorted((one, other) => one.ready - other.ready || (one.hash < other.hash ? -1 : 1))
          .slice(0, limit)
          .map(({ hash }) => hash);
      }),
    releaseFailed: ({ ruleId }) =>
      exclusively((tables) => {
        const failed = new Set(
          tables.jobs
            .filter(({ job }) => job.state === "failed" || job.state === "cancelled")
            .map(({ job }) => job.id),
        );
        change(tables, ruleId, (kept) => ({
          ...kept,
          prompts: new Map(
            [...kept.prompts].map(([hash, prompt]) => {
              const isFailed = prompt.jobId !== null && failed.has(prompt.jobId);
              return [hash, isFailed ? { readySince: prompt.readySince ?? 0, jobId: null } : prompt];
            }),
          ),
        }));
      }),
    setFault: (hold, fault, { pauses = false } = {}) =>
      exclusively((tables) => {
        if (held(tables, hold) === undefined) return;
        change(tables, hold.ruleId, (kept) => ({
          ...kept,
          fault,
          rule: { ...kept.rule, isPaused: kept.rule.isPaused || pauses },
        }));
      }),
  };
}

function findRule(tables: Tables, id: string): StoredRule | null {
  const kept = tables.rules.find(({ rule }) => rule.id === id);
  return kept === undefined ? null : shown(tables, kept);
}

/** One whose model is gone does not stand any more. */
function shown({ models }: Tables, { rule }: KeptRule): StoredRule {
  const isThere = models.some(({ id }) => id === rule.standing?.modelId);
  return isThere ? rule : { ...rule, standing: null };
}

function held({ rules }: Tables, { ruleId, owner, updatedAt }: StandingHold): KeptRule | undefined {
  return rules.find(
    (kept) =>
      kept.rule.id === ruleId &&
      kept.owner === owner &&
      kept.rule.updatedAt.getTime() === updatedAt.getTime(),
  );
}

function change(tables: Tables, id: string, changed: (kept: KeptRule) => KeptRule): void {
  tables.rules = tables.rules.map((kept) => (kept.rule.id === id ? changed(kept) : kept));
}

function isOfProject({ rule }: KeptRule, { entity, project }: StoredRule): boolean {
  return rule.entity === entity && rule.project === project;
}

function requireFreeName(tables: Tables, rule: StoredRule): void {
  const isTaken = tables.rules.some(
    (kept) => isOfProject(kept, rule) && kept.rule.name === rule.name && kept.rule.id !== rule.id,
  );
  if (isTaken) throw conflict("The name is taken.");
}

function requireModel({ models }: Tables, { standing }: StoredRule): void {
  if (standing !== null && !models.some(({ id }) => id === standing.modelId))
    throw notFound("model", standing.modelId);
}
