// Access of a key to the views and the actions of the page, by its scopes, its project and its role. The server decides;
// these rules only keep the page from offering a view or an action that the server would refuse.
import type { OwnKey } from "../../client/api.ts";
import { otherNames, overview, sectionGroups } from "./sections.ts";

export type Access = Pick<OwnKey, "role" | "scopes" | "project">;
export type Scope = NonNullable<OwnKey["scopes"]>[number];

/** Scopes of keys, in the order in which the page shows them. */
export const scopes = ["chat", "train", "feedback", "read"] as const satisfies readonly Scope[];

interface Need {
  /** Scopes that give access; a key with one of them suffices. Empty if only a key without scopes has access. */
  readonly scopes: readonly Scope[];
  /** True if a key for a single project has no access. */
  readonly isWholeEntitys?: true;
  /** True if only an administrator has access. */
  readonly isAdmins?: true;
}

const readingModels: Need = { scopes: ["train", "read"] };
const readingAnswers: Need = { scopes: ["feedback", "read"] };
const readingEntity: Need = { scopes: ["read"], isWholeEntitys: true };

/** Needs of the views, by their names in the URL. Any key may open the other views. */
const views: Readonly<Record<string, Need>> = {
  models: readingModels,
  jobs: readingModels,
  runs: readingModels,
  trajectories: readingModels,
  rules: readingModels,
  train: { scopes: ["train"] },
  traces: readingAnswers,
  conversations: { scopes: ["train", "feedback", "read"] },
  feedback: readingAnswers,
  queues: readingAnswers,
  chat: { scopes: ["chat"] },
  webhooks: readingEntity,
  retention: readingEntity,
  logs: { scopes: [], isWholeEntitys: true, isAdmins: true },
};

const actions = {
  /** Creates, changes and deletes models, jobs and reward rules, and deletes recorded answers. */
  train: { scopes: ["train"] },
  /** Asks models for answers. */
  chat: { scopes: ["chat"] },
  /** Gives feedback, and annotates. */
  judge: { scopes: ["feedback"] },
  /** Lists models and jobs. */
  readModels: readingModels,
  /** Lists the feedback on an answer. */
  readFeedback: readingAnswers,
  /** Creates, changes and deletes webhooks. */
  manageWebhooks: { scopes: [], isWholeEntitys: true },
  /** Manages keys, and loads and unloads base models. */
  administer: { scopes: [], isWholeEntitys: true, isAdmins: true },
} as const satisfies Record<string, Need>;
export type Action = keyof typeof actions;

/** True if a key may open a view. */
export function canOpen(key: Access, view: string): boolean {
  const need = needOf(view);
  return need === undefined || isMet(need, key);
}

/** True if a key may do something. */
export function canDo(key: Access, action: Action): boolean {
  return isMet(actions[action], key);
}

/** Returns a sentence that says which key opens a view that this key does not open. */
export function needText(key: Access, view: string): string {
  const need = needOf(view);
  if (need?.isAdmins && key.role !== "admin")
    return "This view is for administrators; your key is a member's.";
  if (need === undefined || need.scopes.length === 0)
    return "This view is for keys without limits of scopes and project; your key has such limits.";
  if (key.scopes !== null && !need.scopes.some((scope) => key.scopes?.includes(scope)))
    return `This view needs a key with the scope ${need.scopes.join(" or ")}; your key has ${key.scopes.join(", ")}.`;
  return `This view covers a whole entity; your key is limited to the project ${key.project ?? ""}.`;
}

/** Returns the titles of the navigation's views that a key may not open. */
export function closedTitles(key: Access): readonly string[] {
  return titlesOf((view) => !canOpen(key, view));
}

/** Returns the titles of the navigation's views that need a scope, and that a key with only this scope may open. */
export function titlesWith(scope: Scope): readonly string[] {
  const key: Access = { role: "member", scopes: [scope], project: null };
  return titlesOf((view) => needOf(view) !== undefined && canOpen(key, view));
}

function titlesOf(isWanted: (view: string) => boolean): readonly string[] {
  const sections = [overview, ...sectionGroups.flatMap((group) => group.sections)];
  return sections.filter(({ view }) => isWanted(view)).map(({ title }) => title);
}

function needOf(view: string): Need | undefined {
  return views[view] ?? views[otherNames[view] ?? view];
}

function isMet({ scopes: wanted, isWholeEntitys, isAdmins }: Need, { role, scopes: own, project }: Access) {
  if (isAdmins && role !== "admin") return false;
  if (isWholeEntitys && project !== null) return false;
  return own === null || wanted.some((scope) => own.includes(scope));
}
