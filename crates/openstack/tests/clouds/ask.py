"""Records how openstacksdk reads files and variables. The tests compare our results with cases.json.

    pip install openstacksdk && python ask.py

Each case is a set of files, each with a folder and a name, and variables. `.` is the working directory, `config`
stands for $XDG_CONFIG_HOME, `home` for $HOME, `site` for $XDG_CONFIG_DIRS.
"""

import json
import os
import subprocess
import sys
import tempfile

A = "auth: {auth_url: 'http://a/v3', username: u, password: p, project_name: x}"
CASES = {
    "one file": {"files": {"./clouds.yaml": "clouds: {a: {%s, region_name: one}}" % A}},
    "the working folder goes first": {
        "files": {
            "./clouds.yaml": "clouds: {here: {%s}}" % A,
            "config/openstack/clouds.yaml": "clouds: {there: {%s}}" % A,
        }
    },
    "then the configuration's": {
        "files": {
            "config/openstack/clouds.yaml": "clouds: {config: {%s}}" % A,
            "home/.config/openstack/clouds.yaml": "clouds: {home: {%s}}" % A,
        }
    },
    "then the home": {
        "files": {
            "home/.config/openstack/clouds.yaml": "clouds: {home: {%s}}" % A,
            "site/openstack/clouds.yaml": "clouds: {site: {%s}}" % A,
        }
    },
    "then the site's": {"files": {"site/openstack/clouds.yml": "clouds: {site: {%s}}" % A}},
    "yaml before yml before json": {
        "files": {
            "./clouds.json": '{"clouds": {"json": {%s}}}' % '"auth": {"auth_url": "http://a/v3"}',
            "./clouds.yml": "clouds: {yml: {%s}}" % A,
        }
    },
    "a variable names the file": {
        "files": {"./clouds.yaml": "clouds: {here: {%s}}" % A, "other.yaml": "clouds: {other: {%s}}" % A},
        "env": {"OS_CLIENT_CONFIG_FILE": "other.yaml"},
    },
    "a variable names a file that is not there": {
        "files": {"./clouds.yaml": "clouds: {here: {%s}}" % A},
        "env": {"OS_CLIENT_CONFIG_FILE": "nowhere.yaml"},
    },
    "files of different folders go together": {
        "files": {
            "config/openstack/clouds.yaml": "clouds: {a: {auth: {auth_url: 'http://a/v3', username: u}}}",
            "./secure.yaml": "clouds: {a: {auth: {password: s}}}",
        }
    },
    "secure lies over all": {
        "files": {
            "./clouds.yaml": "clouds: {a: {%s, region_name: one}}" % A,
            "./secure.yaml": "clouds: {a: {auth: {password: s, project_name: y}, region_name: two}, b: {%s}}" % A,
        }
    },
    "a variable names the secure file": {
        "files": {
            "./clouds.yaml": "clouds: {a: {%s}}" % A,
            "./secure.yaml": "clouds: {a: {auth: {password: s}}}",
            "other.yaml": "clouds: {a: {auth: {password: o}}}",
        },
        "env": {"OS_CLIENT_SECURE_FILE": "other.yaml"},
    },
    "a profile lies below": {
        "files": {
            "./clouds.yaml": "clouds: {a: {profile: big, auth: {username: u, password: p}, region_name: two}}",
            "./clouds-public.yaml": "public-clouds: {big: {auth: {auth_url: 'http://big/v3', project_name: x},"
            " region_name: one, interface: internal, identity_api_version: '3'}}",
        }
    },
    "a profile by its old word": {
        "files": {
            "./clouds.yaml": "clouds: {a: {cloud: big, auth: {username: u, password: p}}}",
            "./clouds-public.yaml": "public-clouds: {big: {auth: {auth_url: 'http://big/v3'}, region_name: one}}",
        }
    },
    "null lies over a profile": {
        "files": {
            "./clouds.yaml": "clouds: {a: {profile: big, auth: {username: u, password: p}, cacert: null}}",
            "./clouds-public.yaml": "public-clouds: {big: {auth: {auth_url: 'http://big/v3'}, cacert: /big.pem}}",
        }
    },
    "a profile's regions": {
        "files": {
            "./clouds.yaml": "clouds: {a: {profile: big, auth: {username: u, password: p}}}",
            "./clouds-public.yaml": "public-clouds: {big: {auth: {auth_url: 'http://big/v3'}, regions: [one, two]}}",
        }
    },
    "regions": {"files": {"./clouds.yaml": "clouds: {a: {%s, regions: [one, two]}}" % A}},
    "regions before the region": {
        "files": {"./clouds.yaml": "clouds: {a: {%s, region_name: two, regions: [one, two]}}" % A}
    },
    "regions with values": {
        "files": {
            "./clouds.yaml": "clouds: {a: {%s, regions: [{name: one, values: {interface: admin}}, two]}}" % A
        }
    },
    "a region's own login": {
        "files": {
            "./clouds.yaml": "clouds: {a: {%s, regions: [{name: one, values: {auth: {auth_url: 'http://one/v3'}}}]}}" % A
        }
    },
    "regions as a list": {"files": {"./clouds.yaml": "clouds: {a: {%s, region_name: [one, two]}}" % A}},
    "regions with commas": {"files": {"./clouds.yaml": "clouds: {a: {%s, region_name: 'one,two'}}" % A}},
    "no region": {"files": {"./clouds.yaml": "clouds: {a: {%s}}" % A}},
    "login fields at the top": {
        "files": {"./clouds.yaml": "clouds: {a: {auth_url: 'http://a/v3', username: u, password: p, project_name: x}}"}
    },
    "login fields in both places": {
        "files": {"./clouds.yaml": "clouds: {a: {username: top, %s}}" % A}
    },
    "an old word for the project": {
        "files": {"./clouds.yaml": "clouds: {a: {auth: {auth_url: 'http://a/v3', username: u, password: p, tenant_name: x}}}"}
    },
    "hyphens": {
        "files": {
            "./clouds.yaml": "clouds: {a: {region-name: one, auth: {auth-url: 'http://a/v3', username: u, password: p,"
            " project-name: x, user-domain-name: D}}}"
        }
    },
    "domains": {
        "files": {
            "./clouds.yaml": "clouds: {a: {auth: {auth_url: 'http://a/v3', username: u, password: p, project_name: x,"
            " user_domain_name: D, project_domain_id: e}}}"
        }
    },
    "one domain for both": {
        "files": {
            "./clouds.yaml": "clouds: {a: {auth: {auth_url: 'http://a/v3', username: u, password: p, project_name: x,"
            " domain_name: D}}}"
        }
    },
    "one domain for both, by id": {
        "files": {
            "./clouds.yaml": "clouds: {a: {auth: {auth_url: 'http://a/v3', username: u, password: p, project_id: x,"
            " domain_id: D, user_domain_id: E}}}"
        }
    },
    "a number as password": {
        "files": {"./clouds.yaml": "clouds: {a: {auth: {auth_url: 'http://a/v3', username: u, password: 12, project_name: 7}}}"}
    },
    "an application credential": {
        "files": {
            "./clouds.yaml": "clouds: {a: {auth_type: v3applicationcredential, auth: {auth_url: 'http://a/v3',"
            " application_credential_id: i, application_credential_secret: s}}}"
        }
    },
    "a token": {
        "files": {"./clouds.yaml": "clouds: {a: {auth_type: v3token, auth: {auth_url: 'http://a/v3', token: t, project_id: x}}}"}
    },
    "the address is put together": {
        "files": {
            "./clouds.yaml": "clouds: {a: {region_name: one, auth: {auth_url: 'http://{region_name}.a/v3', username: u,"
            " password: p}}}"
        }
    },
    "interface": {"files": {"./clouds.yaml": "clouds: {a: {%s, interface: internal}}" % A}},
    "interface by its old word": {"files": {"./clouds.yaml": "clouds: {a: {%s, endpoint_type: admin}}" % A}},
    "interfaces of services": {
        "files": {
            "./clouds.yaml": "clouds: {a: {%s, interface: internal, compute_interface: admin, volume_interface: public}}" % A
        }
    },
    "addresses of services": {
        "files": {
            "./clouds.yaml": "clouds: {a: {%s, compute_endpoint_override: 'http://c', volumev3_endpoint_override: 'http://v',"
            " network_endpoint: 'http://n', key_manager_endpoint_override: 'http://k'}}" % A
        }
    },
    "regions of services": {
        "files": {"./clouds.yaml": "clouds: {a: {%s, region_name: one, image_region_name: two}}" % A}
    },
    "certificates": {
        "files": {"./clouds.yaml": "clouds: {a: {%s, cacert: /ca.pem, cert: /me.pem, key: /me.key}}" % A}
    },
    "certificates at home": {"files": {"./clouds.yaml": "clouds: {a: {%s, cacert: ~/ca.pem}}" % A}},
    "not verified": {"files": {"./clouds.yaml": "clouds: {a: {%s, verify: false}}" % A}},
    "insecure": {"files": {"./clouds.yaml": "clouds: {a: {%s, insecure: true, verify: true}}" % A}},
    "a certificate without key": {"files": {"./clouds.yaml": "clouds: {a: {%s, cert: /me.pem}}" % A}},
    "variables": {
        "env": {
            "OS_AUTH_URL": "http://e/v3",
            "OS_USERNAME": "u",
            "OS_PASSWORD": "p",
            "OS_PROJECT_NAME": "x",
            "OS_USER_DOMAIN_NAME": "D",
            "OS_PROJECT_DOMAIN_NAME": "E",
            "OS_REGION_NAME": "one",
            "OS_INTERFACE": "internal",
            "OS_CACERT": "/ca.pem",
        }
    },
    "variables beside a file": {
        "files": {"./clouds.yaml": "clouds: {a: {%s}}" % A},
        "env": {"OS_AUTH_URL": "http://e/v3", "OS_USERNAME": "u", "OS_PASSWORD": "p"},
    },
    "variables by another name": {
        "files": {"./clouds.yaml": "clouds: {a: {%s}}" % A},
        "env": {"OS_AUTH_URL": "http://e/v3", "OS_USERNAME": "u", "OS_PASSWORD": "p", "OS_CLOUD_NAME": "mine"},
    },
    "a variable chooses the cloud": {
        "files": {"./clouds.yaml": "clouds: {a: {%s}, b: {%s}}" % (A, A)},
        "env": {"OS_CLOUD": "b"},
    },
    "a variable chooses the cloud, others describe one": {
        "files": {"./clouds.yaml": "clouds: {a: {%s}}" % A},
        "env": {"OS_CLOUD": "a", "OS_AUTH_URL": "http://e/v3", "OS_USERNAME": "u", "OS_PASSWORD": "p"},
    },
    "a region alone is no cloud": {
        "files": {"./clouds.yaml": "clouds: {a: {%s}}" % A},
        "env": {"OS_REGION_NAME": "two"},
    },
    "two clouds, none is meant": {"files": {"./clouds.yaml": "clouds: {a: {%s}, b: {%s}}" % (A, A)}},
}

READ = """
import json, sys, warnings
warnings.simplefilter('ignore')
from openstack.config import loader
config = loader.OpenStackConfig()
told = {'preferred': config.default_cloud, 'clouds': {}}
for name in config.get_cloud_names():
    one = config.get_one(name)
    verify, cert = one.get_requests_verify_args()
    services = ['compute', 'network', 'image', 'block-storage', 'key-manager']
    told['clouds'][name] = {
        'auth_type': one.config['auth_type'], 'auth': one.config['auth'], 'region': one.get_region_name() or None,
        'regions': [region['name'] for region in config._get_regions(name) if region['name']],
        'verify': verify, 'cert': cert,
        'interface': one.get_interface(),
        'interfaces': {s: one.get_interface(s) for s in services},
        'endpoints': {s: one.get_endpoint(s) for s in services if one.get_endpoint(s)},
        'service_regions': {s: one.get_region_name(s) or None for s in services},
    }
print(json.dumps(told))
"""


def ask(case):
    with tempfile.TemporaryDirectory() as root:
        here = os.path.join(root, "here")
        places = {name: os.path.join(root, name) for name in ("config", "home", "site")}
        for folder in (here, *places.values()):
            os.makedirs(folder)
        for name, text in case.get("files", {}).items():
            first, _, rest = name.partition("/")
            path = os.path.join(places[first], rest) if first in places else os.path.join(here, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        env = {
            "PATH": os.environ["PATH"],
            "XDG_CONFIG_HOME": places["config"],
            "HOME": places["home"],
            "XDG_CONFIG_DIRS": places["site"],
            **case.get("env", {}),
        }
        done = subprocess.run([sys.executable, "-c", READ], cwd=here, env=env, capture_output=True, text=True)
        if done.returncode:
            return {"error": done.stderr.strip().splitlines()[-1]}
        return json.loads(done.stdout.replace(places["home"], "~"))


if __name__ == "__main__":
    told = [{"name": name, **case, "told": ask(case)} for name, case in CASES.items()]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.json")
    with open(path, "w") as file:
        json.dump(told, file, indent=1, sort_keys=True)
        file.write("\n")
    for case in told:
        if "error" in case["told"]:
            print(case["name"], case["told"]["error"])
