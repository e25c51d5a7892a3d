// Frame of the page: navigation, theme switch, sign-out, and the view that the URL names.
import type { ComponentChildren } from "preact";
import { Annotate } from "./annotating/annotate.tsx";
import { Queues } from "./annotating/queues.tsx";
import { KeyView } from "./keys/key-view.tsx";
import { lazyView } from "./components/lazy-view.tsx";
import { View } from "./components/shown.tsx";
import { RecordedChat } from "./recorded/recorded-chat.tsx";
import { RecordedChats } from "./recorded/recorded-chats.tsx";
import { addressOf, place, type Place } from "./router.ts";
import { session, signOut, type Session } from "./session.ts";
import { ShortcutHelp } from "./shortcuts.tsx";
import { switchTheme, theme } from "./theme.ts";
import { JobView } from "./views/job.tsx";
import { Jobs } from "./views/jobs.tsx";
import { ModelView } from "./views/model.tsx";
import { Models } from "./views/models.tsx";
import { Overview } from "./views/overview.tsx";
import { SignIn } from "./views/sign-in.tsx";
import { Trajectories } from "./views/trajectories.tsx";
import { TrajectoryModels } from "./views/trajectory-models.tsx";
import { TrajectoryView } from "./views/trajectory.tsx";

const Compare = lazyView(async () => (await import("./views/compare.tsx")).Compare);

const Runs = lazyView(async () => (await import("./views/runs.tsx")).Runs);
const JobGroups = lazyView(async () => (await import("./jobs/job-groups.tsx")).JobGroups);

/** Links in the header: the view's name in the URL, and its title. */
const sections = [
  ["", "Overview"],
  ["models", "Models"],
  ["jobs", "Jobs"],
  ["chats", "Chats"],
  ["trajectories", "Trajectories"],
  ["queues", "Queues"],
  ["compare", "Compare"],
  ["usage", "Key"],
] as const;

export function App() {
  const signedIn = session.value;
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header class="head">
        <a class="brand" href={addressOf("")}>
          Hone
        </a>
        {signedIn && (
          <nav aria-label="Views">
            {sections.map(([view, title]) => (
              <a
                key={view}
                href={addressOf(view)}
                aria-current={place.value.view === view ? "page" : undefined}
              >
                {title}
              </a>
            ))}
          </nav>
        )}
        <span class="head-end">
          <a href="guide/">Guide</a>
          <button type="button" class="plain" onClick={switchTheme}>
            {theme.value === "dark" ? "Light" : "Dark"}
          </button>
          {signedIn?.hasKey === true && (
            <button type="button" class="plain" onClick={signOut}>
              Sign out
            </button>
          )}
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        {signedIn === undefined && <p class="muted">Connecting to the server …</p>}
        {signedIn === null && <SignIn />}
        {signedIn && viewOf(place.value, signedIn)}
      </main>
      <ShortcutHelp />
    </>
  );
}

function viewOf({ view, parts: [id, number] }: Place, { hone }: Session): ComponentChildren {
  switch (view) {
    case "":
      return <Overview hone={hone} />;
    case "models":
      return id === undefined ? <Models hone={hone} /> : <ModelView key={id} hone={hone} id={id} />;
    case "jobs":
      if (id === undefined) return <Jobs hone={hone} />;
      return number === "groups" ? (
        <JobGroups key={id} hone={hone} id={id} />
      ) : (
        <JobView key={id} hone={hone} id={id} />
      );
    case "runs":
      return <Runs hone={hone} />;
    case "trajectories":
      if (id === undefined) return <TrajectoryModels hone={hone} />;
      return number === undefined ? (
        <Trajectories key={id} hone={hone} modelId={id} />
      ) : (
        <TrajectoryView key={`${id} ${number}`} hone={hone} modelId={id} number={number} />
      );
    case "chats":
      return id === undefined ? (
        <RecordedChats hone={hone} />
      ) : (
        <RecordedChat key={id} hone={hone} requestId={id} />
      );
    case "queues":
      return id === undefined ? <Queues hone={hone} /> : <Annotate key={id} hone={hone} queueId={id} />;
    case "compare":
      return <Compare hone={hone} />;
    case "usage":
      return <KeyView hone={hone} />;
    default:
      return (
        <View title="Page not found">
          <p>
            There is no page at this address. <a href={addressOf("")}>Overview</a>
          </p>
        </View>
      );
  }
}

/**
 * Moves the focus to the content. Following the link itself would change the part of the URL after `#`, which
 * identifies the view.
 */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
