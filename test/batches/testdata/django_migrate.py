"""Runs one migration with Django. Arguments: the database's URL, the file with its statements, and waits or plain."""
import os
import sys
import tempfile
from urllib.parse import urlparse

url, statements, how = sys.argv[1:]
url = urlparse(url)
here = tempfile.mkdtemp()
for folder in ("shop", "shop/migrations"):
    os.mkdir(os.path.join(here, folder))
    open(os.path.join(here, folder, "__init__.py"), "w").close()
with open(os.path.join(here, "settings.py"), "w") as f:
    f.write(f"""
DATABASES = {{"default": {{"ENGINE": "django.db.backends.postgresql", "NAME": {url.path[1:]!r}, "USER": {url.username!r},
    "PASSWORD": {url.password!r}, "HOST": {url.hostname!r}, "PORT": {url.port!r}}}}}
INSTALLED_APPS = ["shop"]
SECRET_KEY = "test"
""")
with open(os.path.join(here, "shop", "migrations", "0001_network.py"), "w") as f:
    f.write(f"""
from django.db import migrations


class Migration(migrations.Migration):
    atomic = {how != "waits"}  # docs/migrations.md
    operations = [migrations.RunSQL(sql) for sql in {open(statements).read().splitlines()!r}]
""")
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
sys.path.insert(0, here)
from django.core.management import execute_from_command_line  # noqa: E402

execute_from_command_line(["django", "migrate", "--no-color"])
