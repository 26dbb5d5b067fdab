// Recovers a page whose program did not load. Part of the document, so that it is there if any file is missing.
(() => {
  const KEY = 'stackloom.loaded-again';
  // A change of networks interrupts all requests for a moment.
  const PAUSE_MS = 1000;
  let recovery;

  const isFirstFailure = () => {
    try {
      const isFirst = sessionStorage.getItem(KEY) === null;
      sessionStorage.setItem(KEY, 'yes');
      return isFirst;
    } catch {
      // Without storage the page would load again for ever.
      return false;
    }
  };

  const forget = () => {
    try {
      sessionStorage.removeItem(KEY);
    } catch {
      // Without storage there is nothing to remove.
    }
  };

  const explain = () => {
    const message = document.getElementById('program-missing').content.cloneNode(true);
    message.querySelector('button').addEventListener('click', () => {
      // The next failure is a first one again.
      forget();
      location.reload();
    });
    document.body.replaceChildren(message);
  };

  const recover = () => {
    if (isFirstFailure()) location.reload();
    else explain();
  };

  const failed = () => {
    clearTimeout(recovery);
    recovery = setTimeout(recover, PAUSE_MS);
  };

  // The hydration script handles no rejection. Those of other scripts, such as extensions, are rarely of these types.
  const onRejection = ({ reason }) => {
    if (!(reason instanceof TypeError || reason instanceof WebAssembly.CompileError)) return;
    console.error('The program did not load:', reason);
    failed();
  };

  const started = () => {
    clearTimeout(recovery);
    removeEventListener('unhandledrejection', onRejection);
    forget();
  };

  addEventListener('unhandledrejection', onRejection);
  window.stackloomProgram = { started, failed };
})();
