// Sidebar with the navigation, the jobs and engines that are busy, and the page's own controls.
import { Icon, type IconName } from "../components/icon.tsx";
import { Logo } from "../components/logo.tsx";
import { addressOf, place } from "../router.ts";
import { signOut, type Session } from "../session.ts";
import { openShortcutHelp } from "../shortcuts.tsx";
import { switchTheme, theme } from "../theme.ts";
import { canOpen } from "./key-access.ts";
import { RunningNow } from "./running-now.tsx";
import { overview, type Section, sectionGroups, sectionOf } from "./sections.ts";

export function Brand() {
  return (
    <a class="brand" href={addressOf("")}>
      <Logo />
      Hone
    </a>
  );
}

export function Sidebar({ session: { key, hasKey } }: { readonly session: Session }) {
  return (
    <aside class="sidebar" id="sidebar" aria-label="Sidebar">
      <Brand />
      <nav class="sections" aria-label="Views">
        <ul>
          <SectionLink section={overview} />
        </ul>
        {sectionGroups
          .map(({ title, sections }) => ({
            title,
            open: sections.filter(({ view }) => canOpen(key, view)),
          }))
          .filter(({ open }) => open.length > 0)
          .map(({ title, open }) => (
            <div key={title}>
              <p id={`sections-${title}`}>{title}</p>
              <ul aria-labelledby={`sections-${title}`}>
                {open.map((section) => (
                  <SectionLink key={section.view} section={section} />
                ))}
              </ul>
            </div>
          ))}
      </nav>
      <div class="sidebar-end">
        <RunningNow />
        <div class="tools">
          <a class="button plain icon-only" href="guide/" aria-label="Guide" title="Guide">
            <Icon of="book" />
          </a>
          <ToolButton icon="help" label="Keyboard shortcuts" onClick={openShortcutHelp} />
          <ThemeButton />
          {hasKey && <ToolButton icon="sign-out" label="Sign out" onClick={signOut} />}
        </div>
      </div>
    </aside>
  );
}

export function ThemeButton() {
  const isDark = theme.value === "dark";
  return (
    <ToolButton icon={isDark ? "sun" : "moon"} label={isDark ? "Light" : "Dark"} onClick={switchTheme} />
  );
}

function ToolButton({
  icon,
  label,
  onClick,
}: {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
}) {
  return (
    <button type="button" class="plain icon-only" aria-label={label} title={label} onClick={onClick}>
      <Icon of={icon} />
    </button>
  );
}

function SectionLink({ section: { view, title, icon } }: { readonly section: Section }) {
  return (
    <li>
      <a href={addressOf(view)} aria-current={sectionOf(place.value) === view ? "page" : undefined}>
        <Icon of={icon} />
        {title}
      </a>
    </li>
  );
}
