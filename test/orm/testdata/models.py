"""Uses Django's models as `inspectdb` printed them, unedited. Argument: the database's URL."""
import os
import subprocess
import sys
import tempfile
from urllib.parse import urlparse

url = urlparse(sys.argv[1])
here = tempfile.mkdtemp()
os.mkdir(os.path.join(here, "app"))
open(os.path.join(here, "app", "__init__.py"), "w").close()
with open(os.path.join(here, "settings.py"), "w") as f:
    f.write(f"""
DATABASES = {{"default": {{"ENGINE": "django.db.backends.postgresql", "NAME": {url.path[1:]!r}, "USER": {url.username!r},
    "PASSWORD": {url.password!r}, "HOST": {url.hostname!r}, "PORT": {url.port!r}}}}}
INSTALLED_APPS = ["app"]
SECRET_KEY = "test"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# docs/orm.md: inspectdb gives two keys to one table no related_name, so that the way back is one of them.
SILENCED_SYSTEM_CHECKS = ["fields.E304"]
""")
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
sys.path.insert(0, here)
with open(os.path.join(here, "app", "models.py"), "w") as models:
    subprocess.run([sys.executable, "-m", "django", "inspectdb"], stdout=models, check=True, cwd=here, env={**os.environ, "PYTHONPATH": here})
subprocess.run([sys.executable, "-m", "django", "check"], check=True, cwd=here, env={**os.environ, "PYTHONPATH": here})

import django  # noqa: E402

django.setup()
from app import models  # noqa: E402
from django.apps import apps  # noqa: E402
from django.db.models import ForeignKey  # noqa: E402

wrong = [
    f"{model._meta.db_table}.account is {model._meta.get_field('account').remote_field.model._meta.db_table}"
    for model in apps.get_models()
    if any(f.name == "account" and isinstance(f, ForeignKey) and f.remote_field.model is not models.AwsAccount for f in model._meta.fields)
]
print("wrong", wrong)
print("subnet of", models.Subnet.objects.get(cidr_block="10.7.1.0/24").vpc.cidr_block)
print("subnets", models.Vpc.objects.get(cidr_block="10.7.0.0/16").subnet_set.count())
# Before 4.1 inspectdb prints neither identity columns (ticket 30511) nor to_field, so that its models can only read.
if django.VERSION >= (4, 1):
    vpc = models.Vpc.objects.create(account_id="orm", region="us-east-1", cidr_block="10.8.0.0/16", enable_dns_hostnames=False,
                                    enable_dns_support=True, enable_network_address_usage_metrics=False, tags={})
    models.Subnet.objects.create(account_id="orm", region="us-east-1", cidr_block="10.8.1.0/24", vpc=vpc, map_public_ip_on_launch=False, tags={})
    print("written", models.Subnet.objects.get(cidr_block="10.8.1.0/24").vpc.cidr_block)
