// Entry point of the page.
import { render } from "preact";
import { App } from "./app.tsx";
import { keepFocus } from "./focus.ts";
import { followAddress } from "./router.ts";
import { resumeSession } from "./session.ts";
import { followKeys } from "./shortcuts.tsx";
import { applyTheme } from "./theme.ts";
import { messageOf } from "./components/errors/error-text.ts";

applyTheme();
followAddress();
followKeys();
keepFocus();
render(<App />, document.body);
resumeSession().catch((error: unknown) => {
  render(<p role="alert">{messageOf(error)} Reload the page to try again.</p>, document.body);
});
