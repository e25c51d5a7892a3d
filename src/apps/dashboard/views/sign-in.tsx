// View that asks for a key.
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure } from "../components/forms/failure.tsx";
import { Logo } from "../components/logo.tsx";
import { View } from "../components/shown.tsx";
import { hasExpired, signIn } from "../session.ts";
import { messageOf } from "../components/errors/error-text.ts";

export function SignIn() {
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const key = new FormData(form).get("key");
    if (typeof key !== "string" || key.trim() === "") return;
    setIsBusy(true);
    setFailure(null);
    try {
      if (!(await signIn(key.trim())))
        setFailure("This server does not accept the key. `hone keys create` creates a new one.");
    } catch (error) {
      setFailure(messageOf(error));
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <div class="sign-in">
      <Logo />
      <View title="Sign in">
        <form
          class="sign-in"
          onSubmit={(event) => {
            event.preventDefault();
            void submit(event.currentTarget);
          }}
        >
          {hasExpired.value && (
            <p class="warning" role="alert">
              The server no longer accepts your key, for example because the key has expired. Sign in again to
              continue where you were.
            </p>
          )}
          <label>
            Key of this server
            <input
              ref={field}
              type="password"
              name="key"
              autocomplete="current-password"
              required
              aria-describedby="key-hint"
            />
          </label>
          <p id="key-hint" class="muted small">
            At its first start, the server prints its admin key and stores it in the file{" "}
            <code>admin-key</code> of its data folder (<code>.hone/admin-key</code>), unless{" "}
            <code>HONE_API_KEY</code> is set; <code>hone keys create</code> creates more keys. This page
            stores the key in this tab only, until you close it.
          </p>
          <Failure of={failure} />
          <button type="submit" disabled={isBusy}>
            Sign in
          </button>
        </form>
      </View>
    </div>
  );
}
