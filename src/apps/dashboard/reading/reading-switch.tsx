// Switch between plain text, Markdown and tokens, with the legend of the tokens' colours.
import { LevelLegend } from "../trajectories/token-text.tsx";
import { chooseMode, readingMode, readingModes } from "./reading-mode.ts";

const titles = { text: "Text", markdown: "Markdown", tokens: "Tokens" };

/** @param hasTokens false if no text has tokens; the switch then offers only text and Markdown */
export function ReadingSwitch({ hasTokens = false }: { readonly hasTokens?: boolean }) {
  const modes = readingModes.filter((mode) => hasTokens || mode !== "tokens");
  const current = hasTokens || readingMode.value !== "tokens" ? readingMode.value : "text";
  return (
    <div class="reading">
      <div class="segments" role="group" aria-label="Show messages as">
        {modes.map((mode) => (
          <button key={mode} type="button" aria-pressed={mode === current} onClick={() => chooseMode(mode)}>
            {titles[mode]}
          </button>
        ))}
      </div>
      {current === "tokens" && <LevelLegend />}
    </div>
  );
}
