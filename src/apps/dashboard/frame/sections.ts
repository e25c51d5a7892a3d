// Sections of the navigation: groups of views, with the name of each view in the URL, its title and its icon.
import type { IconName } from "../components/icon.tsx";

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
      { view: "chats", title: "Chats", icon: "chats" },
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
    ],
  },
];
