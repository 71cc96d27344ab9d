"""The Content-Security-Policy in a real browser blocks what it should.

`test_all_pages.py` checks that no page violates it.
"""

from __future__ import annotations

import pytest

from tests.browser.conftest import NewPage
from tests.live_app import wait_until

RECORD_POLICY_VIOLATIONS = """
  window.violations = [];
  document.addEventListener("securitypolicyviolation", (event) =>
    violations.push(`${event.effectiveDirective}: ${event.blockedURI} ${event.sourceFile}`));
"""


@pytest.mark.journey
def test_the_policy_blocks_what_it_forbids_and_frames_of_other_sites(
    app: str, new_page: NewPage
) -> None:
    context = new_page().context
    page = context.new_page()  # not the fixture's, as console errors are expected
    page.add_init_script(RECORD_POLICY_VIOLATIONS)
    page.goto(app)
    page.get_by_role("heading", level=1).wait_for()
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.scriptRan = true";
          document.head.append(script);
          // In a timer, as Playwright's own evaluation is exempt from the policy.
          setTimeout(() => { window.scriptRan = new Function("return true")(); });
          const picture = new Image();
          picture.src = "http://localhost:9/outside.png";
        }"""
    )
    wait_until(page, "violations.length >= 3")
    assert page.evaluate("window.scriptRan") is None
    values = " ".join(page.evaluate("violations"))
    for directive in ("script-src-elem: inline", "script-src: eval", "img-src: http://localhost:9"):
        assert directive in values

    page = new_page().context.new_page()
    frame = f'<iframe src="{app}"></iframe>'
    page.route(
        "http://other.localhost:1/",
        lambda route: route.fulfill(body=frame, content_type="text/html"),
    )
    with page.expect_event(
        "framenavigated", lambda inner: inner.url.startswith(("chrome-error:", app))
    ) as navigation:
        page.goto("http://other.localhost:1/")
    assert navigation.value.url.startswith("chrome-error:"), "another site shows the app in a frame"
