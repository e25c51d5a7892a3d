// Frame of the page: the sidebar, which a menu button opens on narrow screens, and the view that the URL names.
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Icon } from "./components/icon.tsx";
import { Skeleton } from "./components/skeleton.tsx";
import { StatusMessage } from "./components/status-message.tsx";
import { Brand, Sidebar, ThemeButton } from "./frame/sidebar.tsx";
import { viewOf } from "./frame/view-of.tsx";
import { followServer, isAway } from "./live.ts";
import { place, placeOf } from "./router.ts";
import { hasSignedOut, session, type Session } from "./session.ts";
import { ShortcutHelp } from "./shortcuts.tsx";
import { SignIn } from "./views/sign-in.tsx";

/** True while the sidebar is open on a narrow screen. */
const isMenuOpen = signal(false);
// Opening a view closes the menu.
place.subscribe(() => (isMenuOpen.value = false));
// After signing out, going back in the history does not show where the user was.
effect(() => {
  if (place.value.view !== "" && hasSignedOut()) {
    history.replaceState(null, "", location.pathname);
    place.value = placeOf("");
  }
});

export function App() {
  const signedIn = session.value;
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      {signedIn ? <SignedIn session={signedIn} /> : <SignedOut isKnown={signedIn === null} />}
      <StatusMessage />
      <ShortcutHelp />
    </>
  );
}

function SignedIn({ session: signedIn }: { readonly session: Session }) {
  const { hone } = signedIn;
  useEffect(() => followServer(hone), [hone]);
  return (
    <div class={isMenuOpen.value ? "frame is-open" : "frame"}>
      <header class="top-bar">
        <Brand />
        <button
          type="button"
          class="plain icon-only"
          aria-label="Menu"
          aria-expanded={isMenuOpen.value}
          aria-controls="sidebar"
          onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
        >
          <Icon of="menu" />
        </button>
      </header>
      {isMenuOpen.value && (
        <button
          type="button"
          class="veil"
          aria-label="Close the menu"
          onClick={() => (isMenuOpen.value = false)}
        />
      )}
      <Sidebar session={signedIn} />
      <main id="main" tabIndex={-1}>
        {isAway.value && (
          <p class="offline" role="status">
            <Icon of="offline" /> The server at {location.origin} does not answer. The page shows its last
            state and connects again by itself.
          </p>
        )}
        {viewOf(place.value, signedIn)}
      </main>
    </div>
  );
}

/** @param isKnown false until the server has said whether the page needs a key */
function SignedOut({ isKnown }: { readonly isKnown: boolean }) {
  return (
    <div class="frame alone">
      <div class="alone-tools">
        <a class="button plain icon-only" href="guide/" aria-label="Guide" title="Guide">
          <Icon of="book" />
        </a>
        <ThemeButton />
      </div>
      <main id="main" tabIndex={-1}>
        {isKnown ? <SignIn /> : <Skeleton />}
      </main>
    </div>
  );
}

/**
 * Moves the focus to the content. Following the link itself would change the part of the URL after `#`, which
 * identifies the view.
 */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
