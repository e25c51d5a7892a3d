// Sections of the navigation: groups of views, with the name of each view in the URL, its title and its icon.
import type { IconName } from "../components/icon.tsx";
import { isModelId } from "../model/model-id.ts";
import type { Place } from "../router.ts";

export interface Section {
  readonly view: string;
  readonly title: string;
  readonly icon: IconName;
}

export interface SectionGroup {
  readonly title: string;
  readonly sections: readonly Section[];
}

export const overview: Section = { view: "", title: "Overview", icon: "home" };

export const sectionGroups: readonly SectionGroup[] = [
  {
    title: "Train",
    sections: [
      { view: "models", title: "Models", icon: "model" },
      { view: "jobs", title: "Jobs", icon: "jobs" },
      { view: "runs", title: "Runs", icon: "runs" },
      { view: "trajectories", title: "Trajectories", icon: "trajectory" },
    ],
  },
  {
    title: "Judge",
    sections: [
      { view: "traces", title: "Traces", icon: "trace" },
      { view: "conversations", title: "Conversations", icon: "conversations" },
      { view: "feedback", title: "Feedback", icon: "feedback" },
      { view: "queues", title: "Queues", icon: "queue" },
      { view: "chat", title: "Chat", icon: "chat" },
    ],
  },
  {
    title: "Run",
    sections: [
      { view: "bases", title: "Base models", icon: "cpu" },
      { view: "rules", title: "Reward rules", icon: "rule" },
      { view: "usage", title: "Keys and usage", icon: "key" },
      { view: "webhooks", title: "Webhooks", icon: "webhook" },
      { view: "retention", title: "Retention", icon: "retention" },
      { view: "logs", title: "Logs", icon: "logs" },
    ],
  },
];

/** Names in URLs of views that belong to a section of another name, and names that older releases used. */
export const otherNames: Readonly<Record<string, string>> = {
  chats: "conversations",
  compare: "chat",
  evaluation: "models",
  train: "jobs",
};

/** Returns the name of the section to which the view at a place belongs. The tabs of a model belong to the models. */
export function sectionOf({ view, parts, query }: Place): string {
  const isOfModel =
    view === "trajectories"
      ? parts.length > 0
      : view === "conversations" && parts.length === 0 && isModelId(query.get("model") ?? undefined);
  return isOfModel ? "models" : (otherNames[view] ?? view);
}
