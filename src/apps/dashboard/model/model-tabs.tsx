// Sub-navigation of a model: links between the views of its data.
import { useEffect, useRef } from "preact/hooks";
import { addressOf } from "../router.ts";

const tabs = [
  ["versions", "Versions", (id: string) => addressOf("models", [id])],
  ["jobs", "Jobs", (id: string) => addressOf("models", [id, "jobs"])],
  ["trajectories", "Trajectories", (id: string) => addressOf("trajectories", [id])],
  ["evaluation", "Evaluation", (id: string) => addressOf("evaluation", [id])],
  ["conversations", "Conversations", (id: string) => addressOf("conversations", [], { model: id })],
  ["learning", "Learning", (id: string) => addressOf("models", [id, "learning"])],
] as const;

export type ModelTab = (typeof tabs)[number][0];

export function ModelTabs({ id, current }: { readonly id: string; readonly current: ModelTab }) {
  const nav = useRef<HTMLElement>(null);
  // On a narrow screen, the link of the current view may be outside of the visible part.
  useEffect(
    () =>
      nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    [current],
  );
  return (
    <nav ref={nav} class="tabs" aria-label="Views of the model">
      {tabs.map(([name, title, address]) => (
        <a key={name} href={address(id)} aria-current={name === current ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
